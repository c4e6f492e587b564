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
  site_copy: 'Copy',
  site_copied: 'Copied',
  site_marked: 'Marked: copy it now',
  site_unreachable: 'The site could not be reached. Try again in a moment.',
  site_too_often: {
    one: 'Too many requests. Try again in a second.',
    other: 'Too many requests. Try again in {count} seconds.',
  },
  site_trouble: 'The site has trouble at the moment. Try again in a while.',

  // inbox

  // reader

  // shop

  // key

  // docs

  // leave
} as const
