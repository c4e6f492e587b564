-- The lists of the operator, newest first.
create index api_key_created on api_key (created_at, id);
create index webhook_created on webhook (created_at, id);
