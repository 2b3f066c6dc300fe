//! Sums over points (x, y), from which means, errors and lines come: integers, so that parts can be
//! added in any order.

/// The sums over some points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct PointSums {
    pub count: u64,
    pub x: i64,
    pub y: i64,
    pub x_squared: i128,
    pub y_squared: i128,
    pub product: i128,
}

impl PointSums {
    /// Adds a point.
    pub fn add(&mut self, x: i32, y: i32) {
        let (x, y) = (i64::from(x), i64::from(y));
        self.count += 1;
        self.x += x;
        self.y += y;
        self.x_squared += i128::from(x * x);
        self.y_squared += i128::from(y * y);
        self.product += i128::from(x * y);
    }

    /// Adds the points of other sums.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.x += other.x;
        self.y += other.y;
        self.x_squared += other.x_squared;
        self.y_squared += other.y_squared;
        self.product += other.product;
    }

    /// The variances of x and of y, and their covariance, each times the square of the count.
    pub fn spreads(&self) -> [i128; 3] {
        let [count, x, y] = [i128::from(self.count), self.x.into(), self.y.into()];
        [
            self.x_squared * count - x * x,
            self.y_squared * count - y * y,
            self.product * count - x * y,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_parts_are_those_of_the_whole() {
        let points = [[3, -2], [5, 8], [-7, 1], [i32::MAX, i32::MIN]];
        let sums = |points: &[[i32; 2]]| {
            let mut sums = PointSums::default();
            points.iter().for_each(|&[x, y]| sums.add(x, y));
            sums
        };
        let mut parts = sums(&points[2..]);
        parts.merge(&sums(&points[..2]));
        assert_eq!(parts, sums(&points));
        // Of (3, −2) and (5, 8): variances 1 and 25, covariance 5.
        assert_eq!(sums(&points[..2]).spreads(), [4, 100, 20]);
    }
}
