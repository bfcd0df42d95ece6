-- The facts of runs. Times of day are nanoseconds since 1970 UTC, other times nanoseconds; histograms are HDR V2 compressed (base 64)
-- with their exact sum in nanoseconds beside them. NULL is unknown. docs/formats/archive.md describes every table.
CREATE TABLE run (
    run         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    name        TEXT NOT NULL,
    started_ns  INTEGER NOT NULL,
    ended_ns    INTEGER,
    partial     INTEGER NOT NULL,
    interrupted TEXT NOT NULL,
    environment TEXT NOT NULL,
    plan        BLOB NOT NULL,
    slo         TEXT NOT NULL
) STRICT;

CREATE TABLE cell (
    run         INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    cell        INTEGER NOT NULL,
    setting     TEXT NOT NULL,
    repeat      INTEGER NOT NULL,
    model       TEXT NOT NULL,
    concurrency INTEGER NOT NULL,
    rate_per_s  REAL NOT NULL,
    think_ns    INTEGER NOT NULL,
    started_ns  INTEGER NOT NULL,
    warmup_ns   INTEGER NOT NULL,
    discard_ns  INTEGER NOT NULL,
    window_ns   INTEGER NOT NULL,
    timeout_ns  INTEGER NOT NULL,
    partial     INTEGER NOT NULL,
    failure     TEXT NOT NULL,
    imported    TEXT,
    PRIMARY KEY (run, cell)
) STRICT, WITHOUT ROWID;

CREATE TABLE slot_limit (
    run     INTEGER NOT NULL,
    cell    INTEGER NOT NULL,
    service TEXT NOT NULL,
    pool    TEXT NOT NULL,
    slots   INTEGER NOT NULL,
    FOREIGN KEY (run, cell) REFERENCES cell ON DELETE CASCADE
) STRICT;
CREATE INDEX slot_limit_cell ON slot_limit (run, cell);

CREATE TABLE interval (
    run              INTEGER NOT NULL,
    cell             INTEGER NOT NULL,
    seq              INTEGER NOT NULL,
    phase            TEXT NOT NULL,
    start_ns         INTEGER NOT NULL,
    end_ns           INTEGER NOT NULL,
    planned          INTEGER NOT NULL,
    in_flight        INTEGER NOT NULL,
    lag              BLOB,
    lag_sum_ns       INTEGER,
    connect          BLOB,
    connect_sum_ns   INTEGER,
    tls              BLOB,
    tls_sum_ns       INTEGER,
    addresses        TEXT,
    bytes_sent       INTEGER NOT NULL,
    bytes_read       INTEGER NOT NULL,
    codes            TEXT,
    cpu_ns           INTEGER NOT NULL,
    loop_cpu_ns      TEXT,
    cpu_wait_ns      INTEGER NOT NULL,
    gc_pause_ns      INTEGER NOT NULL,
    descriptors_free INTEGER NOT NULL,
    ports_free       INTEGER NOT NULL,
    PRIMARY KEY (run, cell, seq),
    FOREIGN KEY (run, cell) REFERENCES cell ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE class (
    run             INTEGER NOT NULL,
    cell            INTEGER NOT NULL,
    seq             INTEGER NOT NULL,
    place           INTEGER NOT NULL,
    outcome         TEXT NOT NULL,
    inside          INTEGER NOT NULL,
    answered        INTEGER NOT NULL,
    count           INTEGER NOT NULL,
    latency         BLOB,
    latency_sum_ns  INTEGER,
    response        BLOB,
    response_sum_ns INTEGER,
    held_ns         INTEGER NOT NULL,
    PRIMARY KEY (run, cell, seq, place),
    FOREIGN KEY (run, cell, seq) REFERENCES interval ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE process_sample (
    run               INTEGER NOT NULL,
    cell              INTEGER NOT NULL,
    service           TEXT NOT NULL,
    at_ns             INTEGER NOT NULL,
    cpu_user_ns       INTEGER NOT NULL,
    cpu_system_ns     INTEGER NOT NULL,
    voluntary         INTEGER NOT NULL,
    involuntary       INTEGER NOT NULL,
    run_queue_wait_ns INTEGER NOT NULL,
    threads           INTEGER NOT NULL,
    rss_bytes         INTEGER NOT NULL,
    descriptors       INTEGER NOT NULL,
    minor_faults      INTEGER NOT NULL,
    major_faults      INTEGER NOT NULL,
    FOREIGN KEY (run, cell) REFERENCES cell ON DELETE CASCADE
) STRICT;
CREATE INDEX process_sample_cell ON process_sample (run, cell);

CREATE TABLE pool_sample (
    run                INTEGER NOT NULL,
    cell               INTEGER NOT NULL,
    service            TEXT NOT NULL,
    pool               TEXT NOT NULL,
    kind               TEXT NOT NULL,
    at_ns              INTEGER NOT NULL,
    core               REAL,
    size               REAL,
    max                REAL,
    capacity           REAL,
    active             REAL,
    queue              REAL,
    active_max         REAL,
    queue_max          REAL,
    completed          REAL,
    rejected           REAL,
    timed_out          REAL,
    waiting            REAL,
    queue_wait_count   REAL,
    queue_wait_seconds REAL,
    queue_wait_buckets TEXT,
    execution_count    REAL,
    execution_seconds  REAL,
    execution_buckets  TEXT,
    FOREIGN KEY (run, cell) REFERENCES cell ON DELETE CASCADE
) STRICT;
CREATE INDEX pool_sample_cell ON pool_sample (run, cell);

CREATE TABLE series_sample (
    run    INTEGER NOT NULL,
    cell   INTEGER NOT NULL,
    source TEXT NOT NULL,
    name   TEXT NOT NULL,
    at_ns  INTEGER NOT NULL,
    value  REAL,
    FOREIGN KEY (run, cell) REFERENCES cell ON DELETE CASCADE
) STRICT;
CREATE INDEX series_sample_cell ON series_sample (run, cell);

CREATE TABLE dump (
    run     INTEGER NOT NULL,
    cell    INTEGER NOT NULL,
    service TEXT NOT NULL,
    at_ns   INTEGER NOT NULL,
    why     TEXT NOT NULL,
    cost_ns INTEGER NOT NULL,
    format  TEXT NOT NULL,
    data    BLOB NOT NULL,
    FOREIGN KEY (run, cell) REFERENCES cell ON DELETE CASCADE
) STRICT;
CREATE INDEX dump_cell ON dump (run, cell);

CREATE TABLE baseline (
    name   TEXT PRIMARY KEY,
    run    INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    set_ns INTEGER NOT NULL
) STRICT;
