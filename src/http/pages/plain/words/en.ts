// What the pages without scripts say beyond the texts that they share with the page (src/shared/words).
export const en = {
  plain_title: 'A temporary address',
  plain_lead: 'Get an address, use it anywhere, and read its mail here. No JavaScript needed.',
  plain_get: 'Get an address',
  plain_lifetime: 'It expires after {life}, and its mail is then deleted.',
  plain_cookie:
    'A cookie keeps the address in this browser until it expires. Other sites cannot see it.',
  plain_open: 'Open the address in this browser',
  plain_slow: 'This is taking longer than usual. It also works without JavaScript:',
  plain_any_domain: 'Any domain',
  plain_expires: 'Expires {rest}: {time}.',
  plain_already: 'You already have this address. Delete it to get another.',
  plain_empty: 'No messages yet. New mail shows up here.',
  plain_paused: 'Automatic checking is off.',
  plain_pause: 'Stop checking',
  plain_resume: 'Check automatically',
  plain_deleted: 'Address and mail deleted.',
  plain_back: 'Back to the inbox',
  plain_received: 'Received',
  plain_links: 'Links',
  plain_more_links: 'More links',
  plain_unsubscribe: 'Unsubscribe',
  plain_link: 'Link',
  plain_html: 'This message was sent as HTML. Showing its text.',
  plain_attachment_warning: 'Open only files you expect. Files from strangers can be harmful.',
  plain_cookie_title: 'Your browser did not store the cookie',
  plain_cookie_text:
    'Without it, this page cannot tell which address is yours. Allow cookies for this site, then try again.',
  plain_expired_text: 'Its mail was deleted. You can get a new address at any time.',
  plain_none_title: 'No address in this browser',
  plain_none_text: 'Get one, or reload this page if you came from another site.',
  plain_missing_title: 'Message not found',
  plain_missing_text: 'It may have been deleted.',
  plain_rejected_title: 'Request rejected',
  plain_rejected_text: 'The request did not come from a page of this site. Use the buttons here.',
  plain_invalid_name: 'This name is not allowed. See the rules below.',
  plain_domain_gone: 'This domain is no longer available. Choose another.',
  plain_invalid_title: 'Invalid request',
  plain_invalid_text: 'Something in the request is wrong. Start again from the inbox.',
  plain_busy_text: 'Try again in a moment.',
  plain_error_title: 'Something went wrong on our side',
  plain_error_text: 'The error was logged as {id}. Try again in a moment.',
  plain_buy_script:
    'Buying needs JavaScript, because your browser must store the secret that claims the key. Without it, use a terminal:',
  plain_order_script:
    'This page needs JavaScript, because the claim secret of your order never leaves your browser. Without it, use a terminal:',
  plain_order_again:
    'You can repeat this within 24 hours of the first claim. It then creates a new key and revokes the old key immediately.',
  plain_key_script:
    'This page needs JavaScript, because your key never leaves your browser. Without it, use a terminal:',
  plain_key_roll: 'To roll the key (the old one keeps working for 24 hours):',
} as const

export type PlainCatalogue = Readonly<Record<keyof typeof en, string>>
