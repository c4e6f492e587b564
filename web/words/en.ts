// The words of every page, by part. Another language has the same names. A sentence that depends on a count has one
// form for each that the language knows; {name} stands for a value.
export const en = {
  // site: what stands on every page
  site_inbox: 'Inbox',
  site_plans: 'Plans',
  site_key: 'Your key',
  site_docs: 'API',
  site_nav: 'Site',
  site_theme: 'Theme',
  site_theme_auto: 'As the device',
  site_theme_light: 'Light',
  site_theme_dark: 'Dark',
  site_language: 'Language',
  site_abuse: 'Report abuse',
  site_close: 'Close',
  site_copy: 'Copy',
  site_copied: 'Copied',
  site_marked: 'Marked: copy it now',
  site_unreachable: 'The site could not be reached. Try again in a moment.',
  site_too_often: {
    one: 'Too many requests. Try again in a second.',
    other: 'Too many requests. Try again in {count} seconds.',
  },
  site_trouble: 'The site has trouble at the moment. Try again in a while.',

  // address
  address_title: 'Your address',
  address_new: 'New address',
  address_try: 'Try again',
  address_again: 'Trying again in {time}.',
  address_told_new: 'New address: {email}',
  address_told_copied: 'Address copied',
  address_offline: 'This device is offline.',
  address_unreachable: 'The site could not be reached.',
  address_too_many: 'Too many requests from your network.',
  address_busy: 'The site has too much to do at the moment.',
  address_gmail: 'No Gmail account is ready at the moment.',
  address_refused: 'That was refused: {message}',

  // inbox

  // reader

  // shop

  // key

  // docs

  // leave
} as const
