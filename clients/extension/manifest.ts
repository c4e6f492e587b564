export type Browser = 'chromium' | 'firefox'

/**
 * Pages are reached only where the person has clicked (`activeTab`) or has allowed a site; both the sites and the servers are asked
 * for at run time.
 */
export function manifest(browser: Browser, version: string): object {
  return {
    manifest_version: 3,
    name: 'Mayfly',
    version,
    description: '__MSG_description__',
    default_locale: 'en',
    icons: { 32: 'icon-32.png', 128: 'icon-128.png' },
    permissions: ['activeTab', 'alarms', 'contextMenus', 'scripting', 'storage'],
    optional_host_permissions: ['*://*/*'],
    action: { default_popup: 'popup.html', default_title: 'Mayfly' },
    options_ui: { page: 'options.html', open_in_tab: true },
    commands: {
      'fill-address': {
        suggested_key: { default: 'Alt+Shift+M' },
        description: '__MSG_fill_new__',
      },
    },
    // Without Firefox's upgrade-insecure-requests: a server in the own network may have no certificate.
    content_security_policy: {
      extension_pages:
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src http: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    },
    ...PARTS[browser],
  }
}

const PARTS: Record<Browser, object> = {
  chromium: {
    background: { service_worker: 'background.js' },
    minimum_chrome_version: '128',
  },
  firefox: {
    background: { scripts: ['background.js'] },
    browser_specific_settings: {
      gecko: {
        id: 'extension@mayfly-mail.example',
        strict_min_version: '128.0',
        // The server learns for which site an address was made.
        data_collection_permissions: { required: ['browsingActivity'] },
      },
    },
  },
}
