//! Marks in the list layout, done by the server itself: one round trip, and nothing to retry.
//!
//! A script sets the bits of the ids in the newest element, directly in its base64 text, and
//! returns which ids were in any element before. For elements of the policy's own shape it does
//! exactly what `go_list::mark` does, to the byte; if it meets another, nothing is written and the
//! elements are returned, to be changed here (`go_lists.rs`).

use super::protocol::{Protocol, rejected};
use crate::SeenError;
use crate::backend::OwnerOperation;
use crate::go_list::{self, Bits};
use mayhap_redis::redis::Value;
use mayhap_redis::{Reply, Request, Script};

/// Maximum ids per script call: it must not keep a server busy for long.
const MAX_IDS: usize = 256;

/// ARGV: 1 elements kept, 2 time to live in seconds (0: no expiry), 3 what the count of an element
/// plus the ids of a call must stay below, 4 probes, 5 characters of a code, 6 its padding, 7 for
/// each probe of each id the character that has its bit (from 0) and the bit's weight there.
///
/// The newest element is split into blocks, and only where a bit is set.
static MARK: Script = Script::new(
    "local kept, room, probes, chars = tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local pad, bits = ARGV[6], cmsgpack.unpack(ARGV[7])
local list = redis.call('LRANGE', KEYS[1], 0, kept - 1)
local byte, value = string.byte, {}
local code = {byte('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', 1, 64)}
for v = 1, 64 do value[code[v]] = v - 1 end
local starts, count = {}, 0
for i = 1, #list do
  local digits, at = string.match(list[i], '^(%d+)::()')
  if not at or #digits > 9 or string.sub(list[i], at + chars) ~= pad then return {list} end
  if i == 1 then count = tonumber(digits) end
  starts[i] = at
end
local ids = #bits / 2 / probes
local fresh = not list[1] or count + ids >= room
local told, open = {}, {}
for id = 1, ids do
  local last = id * probes * 2
  local first, found = last - probes * 2 + 1, '0'
  for i = 1, #list do
    local element, start, all = list[i], starts[i], true
    for j = first, last, 2 do
      local v, w = value[byte(element, start + bits[j])], bits[j + 1]
      if not v then return {list} end
      if v % (w + w) < w then all = false break end
    end
    if all then found = '1' end
    if i == 1 and (fresh or not all) then open[#open + 1] = first end
    if all then break end
  end
  if #list == 0 then open[#open + 1] = first end
  told[id] = found
end
if #open > 0 then
  local body, start = list[1], starts[1]
  if fresh then body, start, count = string.rep('A', chars), 1, 0 end
  local size, blocks, changed = math.ceil(math.sqrt(chars)), {}, false
  local function ends(from) return start + math.min(from + size, chars) - 1 end
  for _, first in ipairs(open) do
    local new = false
    for j = first, first + probes * 2 - 1, 2 do
      local char, w = bits[j], bits[j + 1]
      local r = char % size
      local from = char - r
      local block = blocks[from]
      if not block then
        block = {byte(body, start + from, ends(from))}
        blocks[from] = block
      end
      local v = value[block[r + 1]]
      if not v then return {list} end
      if v % (w + w) < w then
        new = true
        block[r + 1] = code[v + w + 1]
      end
    end
    if new then count, changed = count + 1, true end
  end
  if changed then
    local parts = {count .. '::'}
    for from = 0, chars - 1, size do
      local block = blocks[from]
      parts[#parts + 1] = block and string.char(unpack(block)) or string.sub(body, start + from, ends(from))
    end
    parts[#parts + 1] = pad
    if fresh then redis.call('LPUSH', KEYS[1], table.concat(parts))
    else redis.call('LSET', KEYS[1], 0, table.concat(parts)) end
    redis.call('LTRIM', KEYS[1], 0, kept - 1)
    if ARGV[2] == '0' then redis.call('PERSIST', KEYS[1]) else redis.call('EXPIRE', KEYS[1], ARGV[2]) end
  end
end
return table.concat(told)",
);

/// The request, unless it is too much for a script or the policy has no filter.
pub(super) fn request(protocol: &Protocol, change: &OwnerOperation<'_>) -> Option<Request> {
    if change.ids.len() > MAX_IDS.min(protocol.policy.ids() as usize) {
        return None;
    }
    let Bits { probes, chars, padding, places } = go_list::bits(change.ids, &protocol.policy)?;
    let number = |number: u64| number.to_string().into_bytes();
    let args = vec![
        number(protocol.policy.slices().into()),
        protocol.ttl(0),
        number(go_list::room(&protocol.policy)),
        number(probes.into()),
        number(chars),
        padding.as_bytes().to_vec(),
        packed(&places),
    ];
    Some(Request::script(&MARK, vec![protocol.key(change.owner)], args))
}

/// MessagePack, for `cmsgpack`: an array of numbers, each in as few bytes as it needs.
fn packed(numbers: &[u32]) -> Vec<u8> {
    let mut out = vec![0xdd];
    out.extend_from_slice(&(numbers.len() as u32).to_be_bytes());
    for number in numbers {
        match (u8::try_from(*number), u16::try_from(*number)) {
            (Ok(tiny @ 0..0x80), _) => out.push(tiny),
            (_, Ok(small)) => {
                out.push(0xcd);
                out.extend_from_slice(&small.to_be_bytes());
            }
            _ => {
                out.push(0xce);
                out.extend_from_slice(&number.to_be_bytes());
            }
        }
    }
    out
}

/// What the script did.
pub(super) enum Marked {
    /// Everything; for each id, whether it was marked before.
    Done(Vec<bool>),
    /// Nothing: it met elements of another shape, which are these.
    Strange(Value),
}

pub(super) fn reply(change: &OwnerOperation<'_>, reply: Reply) -> Result<Marked, SeenError> {
    match reply {
        Ok(Value::BulkString(told)) if told.len() == change.ids.len() => {
            Ok(Marked::Done(told.iter().map(|was| *was == b'1').collect()))
        }
        Ok(Value::Array(mut parts)) if parts.len() == 1 => {
            Ok(Marked::Strange(parts.pop().unwrap_or(Value::Nil)))
        }
        Ok(value) => Err(rejected(change.owner, &format!("an answer of another kind: {value:?}"))),
        Err(why) => Err(rejected(change.owner, &why)),
    }
}
