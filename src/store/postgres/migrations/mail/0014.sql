-- The last message of the pool that has expired, so that a webhook notices what it has not delivered.
alter table mail.shared_mailbox add column swept_id bigint not null default 0;
