-- The last message of a permanent mailbox that was deleted by its age; 0: none.
alter table session add column swept_id integer not null default 0;
