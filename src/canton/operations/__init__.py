"""WHAT TAKES TIME: plans and the engine that carries them out.

    plan/                   what would be done, as data, with a digest
    planners/               one pure planner per operation: snapshot → plan
    submit                  plan → operation, in one transaction
    engine/lease            which worker may drive which operation, and until when
    engine/worker           the process: waits for due operations, leases and drives them
    engine/runner           one leased operation: starts steps, records their results, comes to rest
    engine/schedule         which steps can run now, and in which state the operation rests when none can
    engine/judge            one step: decides from an observation whether it acts, waits, fails or is done
    engine/device_calls     calls to devices, with a time limit
    engine/journal_writer   writes the rows of steps in order, under the fence of the lease
    engine/completion       the changes when an operation comes to rest, in one transaction
    engine/step_kind        the protocol of step kinds; kinds/ has one file for each
    interventions           retry, undo, abandon, cancel
    power/                  the power of nodes, read from their sites at an interval

The rows are the only state: another worker can continue after a process that dies at any instant. No HTTP, no driver
and no policy lives here.
"""
