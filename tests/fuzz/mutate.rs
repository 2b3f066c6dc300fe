//! Changed inputs, by seed.

use renma::random::{RandomStream, Stream, stream};
use serde_json::{Value, json};

/// Bytes that a parser may treat specially, and numbers at the ends of their types.
const TOKENS: [&[u8]; 24] = [
    b"0",
    b"-1",
    b"255",
    b"256",
    b"65535",
    b"65536",
    b"4294967296",
    b"18446744073709551615",
    b"1e999",
    b"NaN",
    b"\0",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80",
    b"\r\n",
    b"\"",
    b"[",
    b"]",
    b"{",
    b"}",
    b"\\",
    b"../",
    b"\xc3\x28",
    b",",
    b"PAR1",
];

/// Random numbers of a seed.
pub(crate) struct Random(RandomStream);

impl Random {
    pub(crate) fn new(seed: u64, index: u64) -> Self {
        Self(stream(seed, Stream::Game(0, index)))
    }

    /// Less than `end`, which is at least 1.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.below(u32::try_from(end).unwrap()) as usize
    }

    pub(crate) fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// One of the inputs with one to eight changes.
pub(crate) fn mutated(inputs: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = random.one_of(inputs).clone();
    for _ in 0..=random.below(8) {
        match serde_json::from_slice::<Value>(&input) {
            Ok(mut value) if random.below(4) != 0 => {
                change_value(&mut value, random);
                input = value.to_string().into_bytes();
            }
            _ => change_bytes(&mut input, inputs, random),
        }
    }
    input
}

fn change_bytes(input: &mut Vec<u8>, inputs: &[Vec<u8>], random: &mut Random) {
    let begin = random.below(input.len() + 1);
    let end = (begin + random.below(32)).min(input.len());
    match random.below(8) {
        0 if begin < input.len() => input[begin] ^= 1 << random.below(8),
        1 if begin < input.len() => input[begin] = random.below(256) as u8,
        2 => input.truncate(begin),
        3 => drop(input.drain(begin..end)),
        4 => {
            let copy = input[begin..end].repeat(1 + random.below(64));
            input.splice(begin..begin, copy);
        }
        5 => {
            let other = random.one_of(inputs);
            let from = random.below(other.len() + 1);
            input.splice(begin.., other[from..].iter().copied());
        }
        _ => {
            let token = *random.one_of(&TOKENS);
            input.splice(begin..end.min(begin + token.len()), token.iter().copied());
        }
    }
}

/// Changes one value somewhere in a JSON value, removes it, or doubles it.
fn change_value(value: &mut Value, random: &mut Random) {
    let is_leaf = random.below(4) == 0;
    match value {
        Value::Object(fields) if !is_leaf && !fields.is_empty() => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let name = random.one_of(&names);
            if random.below(16) == 0 {
                fields.remove(name);
            } else {
                change_value(&mut fields[name.as_str()], random);
            }
        }
        Value::Array(list) if !is_leaf && !list.is_empty() => {
            let index = random.below(list.len());
            match random.below(16) {
                0 => drop(list.remove(index)),
                1 => list.insert(index, list[index].clone()),
                _ => change_value(&mut list[index], random),
            }
        }
        Value::Number(number) if random.below(2) == 0 => {
            let step = [-1_i64, 1][random.below(2)];
            *value = number
                .as_i64()
                .map_or(json!(0), |number| json!(number.wrapping_add(step)));
        }
        Value::String(text) if random.below(2) == 0 => {
            let at = random.below(text.len() + 1);
            if text.is_char_boundary(at) {
                text.insert_str(at, ["/", "..", "\0", "é", "0", " "][random.below(6)]);
            }
        }
        _ => {
            let values = [
                json!(null),
                json!(true),
                json!(0),
                json!(-1),
                json!(1.5),
                json!(u64::MAX),
                json!(i64::MIN),
                json!(1_u64 << 40),
                json!(1e300),
                json!(""),
                json!("../../x"),
                json!("builtin:champion"),
                json!([]),
                json!({}),
                json!([[[[]]]]),
            ];
            *value = random.one_of(&values).clone();
        }
    }
}
