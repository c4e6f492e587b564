-- The last message of a permanent mailbox that was deleted by its age; 0: none.
alter table mail.session add column swept_id bigint not null default 0;
