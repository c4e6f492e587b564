-- By this the sweep finds lines that are due, whatever a wrong clock dated before them.
create index mail_log_time on mail_log (logged_at);

-- Addresses that were forgotten: lines about them until this time, which a thread has yet to write, are not stored.
create table mail_log_forgotten (
  hash            text    primary key,
  forgotten_until integer not null
) strict, without rowid;
