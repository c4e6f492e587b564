-- Who may do what one at a time may do. SQLite keeps these in memory, and has no such step.
create table mail.lease (
  name    text   collate "C" primary key,
  holder  text   not null,
  ends_at bigint not null -- by this server's clock
);
