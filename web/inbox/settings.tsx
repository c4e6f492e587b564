import type { ComponentChildren } from 'preact'
import { Button } from '../site/controls.tsx'
import { Dialog } from '../site/dialog.tsx'
import { formatDuration } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { canKeep, keepsTexts, setKeepsTexts } from '../site/kept-mail.ts'
import { siteConfig } from '../site/site-config.ts'
import { notifications, setNotifications, setSound, soundOn } from './notifications.ts'
import { isHelpOpen, SHORTCUTS, setShortcuts, shortcutsOn, showHelp } from './shortcuts.ts'

export function Settings() {
  const state = notifications.value
  return (
    <details class="settings">
      <summary>
        <Icon name="gear" />
        {t('inbox_settings')}
      </summary>
      <div class="settings-inside">
        <Switch on={soundOn.value} onChoose={setSound}>
          {t('inbox_sound')}
        </Switch>
        <Switch on={state === 'on'} onChoose={(on) => void setNotifications(on)}>
          {t('inbox_notifications')}
        </Switch>
        <p class="soft" role="status">
          {state !== 'on' && state !== 'off' && t(`inbox_notifications_${state}`)}
        </p>
        {canKeep && (
          <Switch on={keepsTexts.value} onChoose={setKeepsTexts}>
            {t('inbox_keep')}
          </Switch>
        )}
        <Switch on={shortcutsOn.value} onChoose={setShortcuts}>
          {t('inbox_shortcuts')}
        </Switch>
        <Button class="plain small" onClick={() => showHelp(true)}>
          {t('inbox_shortcuts_show')}
        </Button>
      </div>
    </details>
  )
}

interface SwitchProps {
  on: boolean
  onChoose(on: boolean): void
  children: ComponentChildren
}

function Switch({ on, onChoose, children }: SwitchProps) {
  return (
    <label class="settings-switch">
      <input
        type="checkbox"
        checked={on}
        onChange={({ currentTarget }) => {
          onChoose(currentTarget.checked)
          // The browser may have denied it.
          currentTarget.checked = on
        }}
      />
      {children}
    </label>
  )
}

const KEY_NAMES: Record<string, readonly string[]> = { Escape: ['Esc'], '#': ['#', 'Del'] }

export function ShortcutHelp() {
  if (!isHelpOpen.value) return null
  return (
    <Dialog title={t('inbox_shortcuts')} onClose={() => showHelp(false)}>
      <dl class="keys">
        {Object.entries(SHORTCUTS).map(([key, { text }]) => (
          <div key={key}>
            <dt>
              {(KEY_NAMES[key] ?? [key]).map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{t(text)}</dd>
          </div>
        ))}
      </dl>
      <p class="soft">{t('inbox_shortcuts_off')}</p>
    </Dialog>
  )
}

export function Privacy() {
  const time = (seconds: number) => formatDuration(seconds * 1000, language.value, 'long')
  return (
    <details class="privacy">
      <summary>{t('address_privacy')}</summary>
      <ul>
        <li>{t('address_privacy_mail', { time: time(siteConfig.life) })}</li>
        <li>{t('address_privacy_reserved', { time: time(siteConfig.cooldown) })}</li>
        <li>{t('address_privacy_token')}</li>
        {canKeep && <li>{t('address_privacy_offline')}</li>}
        <li>{t('address_privacy_tracking')}</li>
        {siteConfig.abuse && (
          <li>
            {t('address_privacy_abuse')}{' '}
            <a href={`mailto:${siteConfig.abuse}`}>{siteConfig.abuse}</a>
          </li>
        )}
      </ul>
    </details>
  )
}
