//! How a team divides a tree: which nodes its members mark, which moves they put off, and when they
//! leave a node.

use super::depth::Depth;
use super::membership::OpenNode;
use super::result::Iteration;
use super::run::SearchRun;
use super::table::PositionKey;
use super::window::NullWindow;
use crate::engine::score::Score;

/// No move is put off.
const NOT_DIVIDED: usize = usize::MAX;

impl SearchRun<'_> {
    /// Marks a node; `null_alpha` is `None` in an open window.
    pub fn enter(&mut self, key: PositionKey, depth: Depth, null_alpha: Option<Score>) {
        if let Some(member) = &self.member {
            member.mark(key, depth);
        }
        // Below an open window a node is expected to cut, and then in turns; a probe expects what
        // its node does.
        let expects_cut = self
            .open_nodes
            .last()
            .is_none_or(|last| last.null_alpha.is_none() || last.expects_cut == (last.key == key));
        self.open_nodes.push(OpenNode {
            key,
            depth,
            null_alpha,
            expects_cut,
        });
    }

    /// Ends what [`SearchRun::enter`] began; the value of the node if another member has settled
    /// it.
    pub fn leave(&mut self) -> Option<Score> {
        let node = self.open_nodes.pop()?;
        if let Some(member) = &self.member {
            member.unmark(node.key, node.depth);
        }
        let (_, value) = self
            .settled
            .filter(|&(place, _)| place == self.open_nodes.len())?;
        (self.settled, self.stopped) = (None, false);
        Some(value)
    }

    /// The first move of a node, from 0, that is put off if another member works on it. It is not
    /// the first one where that is expected to cut, or to give the others their window; at the
    /// lowest level two members would do the same work there.
    #[inline(always)]
    pub fn divided_from(&self, depth: Depth, marked_min: Depth) -> usize {
        if depth <= marked_min {
            return NOT_DIVIDED;
        }
        let waits_for_first = |node: &OpenNode| {
            let is_lowest = depth == marked_min + 1;
            node.null_alpha.is_none() || (node.expects_cut && !is_lowest)
        };
        usize::from(self.open_nodes.last().is_none_or(waits_for_first))
    }

    /// Whether another member works on a node.
    pub fn is_busy(&self, key: PositionKey, depth: Depth) -> bool {
        self.member
            .as_ref()
            .is_some_and(|member| member.is_marked(key, depth))
    }

    /// Looks at what the team has done at the next node.
    pub fn check_soon(&mut self) {
        self.next_check = self.next_check.min(self.nodes);
    }

    /// Stops at the node nearest to the root that another member has settled, or altogether if that
    /// is the root.
    pub fn check_team(&mut self) {
        let Some(member) = &self.member else { return };
        if member.is_step_over() {
            self.stopped = true;
            return;
        }
        self.settled = self
            .open_nodes
            .iter()
            .enumerate()
            .find_map(|(place, node)| {
                let window = NullWindow::above(node.null_alpha?);
                let value = self
                    .look_up(&self.table.get(node.key)?, node.depth, window)
                    .break_value()?;
                Some((place, value))
            });
        self.stopped = self.settled.is_some();
    }

    /// A root search: of this member, or of the one of its team that was faster. `None` if it was
    /// stopped.
    pub fn root_step(
        &mut self,
        search: impl FnOnce(&mut Self) -> Option<Iteration>,
    ) -> Option<Iteration> {
        let Some(member) = &self.member else {
            return search(self);
        };
        if self.stopped {
            // The steps of others after the one that was stopped are not those of this member's
            // search.
            return None;
        }
        let found = if member.is_step_over() {
            None
        } else {
            search(self)
        };
        let found = self
            .member
            .as_mut()
            .and_then(|member| member.end_step(found));
        if found.is_some() {
            self.stopped = false;
            self.check_soon();
        }
        found
    }
}
