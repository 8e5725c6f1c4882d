//! At most a few concurrent jobs per customer.
//!
//! Why it is built so: a work queue serves millions of customers, and a counter for each, most of
//! them idle, would outweigh the queue. A `Quotient` filter holds a fingerprint of a dozen bits for
//! each job in flight: entering inserts one, leaving removes it, and `count` is never below what is
//! really in flight. So the limit is never exceeded; the price is that once in a thousand a
//! customer is held back though there was room, and tried again. A job leaves only if it
//! entered: removing a key that was never inserted would take a copy from a customer with the same
//! fingerprint. Should more jobs be in flight than it was made for, the filter grows.
//!
//! ```sh
//! cargo run --release -p mayhap-examples --example queue_flow
//! ```

use mayhap::{Quotient, Spec, SpecError};
use std::collections::{HashMap, VecDeque};

/// Concurrent jobs per customer.
const LIMIT: u64 = 4;

struct Flow {
    in_flight: Quotient,
}

impl Flow {
    /// For this many jobs in flight, of all customers together.
    fn new(jobs: u64) -> Result<Flow, SpecError> {
        Ok(Flow { in_flight: Quotient::new(Spec::new(jobs, 0.001)?)? })
    }

    /// Whether a job of this customer may start; if so it counts from now on.
    fn enter(&mut self, customer: u64) -> bool {
        let free = self.in_flight.count(customer) < LIMIT;
        if free {
            self.in_flight.insert(customer);
        }
        free
    }

    /// A job is done. `false`: none of this customer was in flight.
    fn leave(&mut self, customer: u64) -> bool {
        self.in_flight.remove(customer)
    }
}

/// The result of a run of the queue.
#[derive(Debug, Default)]
struct Report {
    done: u64,
    held_back: u64,
    /// Held back though fewer than the limit were in flight.
    held_back_wrongly: u64,
    most_at_once: u64,
    left_over: u64,
}

/// Jobs of customers, most of one that floods the queue; `workers` at a time.
fn run(jobs: u64, workers: usize) -> Result<Report, SpecError> {
    let mut flow = Flow::new(workers as u64)?;
    let customer = |job: u64| if job.is_multiple_of(3) { 0 } else { 1 + job * 7919 % 5000 };
    let mut queue: VecDeque<u64> = (0..jobs).map(customer).collect();
    let mut running = VecDeque::new();
    let mut truth: HashMap<u64, u64> = HashMap::new(); // what the filter replaces
    let mut report = Report::default();
    let mut idle = 0;
    while !queue.is_empty() || !running.is_empty() {
        let waits = idle >= queue.len() || running.len() == workers;
        match if waits { None } else { queue.pop_front() } {
            Some(customer) if flow.enter(customer) => {
                let count = truth.entry(customer).or_default();
                *count += 1;
                report.most_at_once = report.most_at_once.max(*count);
                running.push_back(customer);
                idle = 0;
            }
            Some(customer) => {
                report.held_back += 1;
                let count = truth.get(&customer).copied().unwrap_or(0);
                report.held_back_wrongly += u64::from(count < LIMIT);
                queue.push_back(customer); // later
                idle += 1;
            }
            None => {
                let Some(customer) = running.pop_front() else { break };
                flow.leave(customer);
                truth.entry(customer).and_modify(|count| *count -= 1);
                report.done += 1;
                idle = 0;
            }
        }
    }
    report.left_over = flow.in_flight.keys();
    Ok(report)
}

fn main() -> Result<(), SpecError> {
    let report = run(20_000, 200)?;
    println!("{report:#?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_and_everything_gets_done() -> Result<(), SpecError> {
        let report = run(5_000, 200)?;
        assert_eq!((report.done, report.most_at_once, report.left_over), (5_000, LIMIT, 0));
        assert!(report.held_back > 0);
        assert!(report.held_back_wrongly * 20 < report.held_back, "{report:?}");
        Ok(())
    }

    #[test]
    fn leaving_without_entering_takes_nothing_away() -> Result<(), SpecError> {
        let mut flow = Flow::new(100)?;
        assert!(!flow.leave(7));
        assert!((0..LIMIT).all(|_| flow.enter(7)) && !flow.enter(7));
        assert!((0..LIMIT).all(|_| flow.leave(7)) && !flow.leave(7));
        assert_eq!((flow.in_flight.count(7u64), flow.in_flight.keys()), (0, 0));
        Ok(())
    }
}
