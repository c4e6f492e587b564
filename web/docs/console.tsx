import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { SecretSample } from '../key/secret-sample.tsx'
import { Dialog } from '../site/dialog.tsx'
import { facts } from '../site/facts.ts'
import { faultWords } from '../site/fault-words.ts'
import { say, type Words } from '../site/words.ts'
import { Answered } from './answered.tsx'
import { CallField, OpenerField } from './fields.tsx'
import { secretOf } from './opener.ts'
import type { Operation } from './operation.ts'
import { curlLine } from './request.ts'
import { openTrial, type Trial } from './trial.ts'

/** Tries one operation of the API. */
export function Console({ operation }: { operation: Operation }) {
  const trial = useMemo(() => openTrial(operation), [operation])
  const asks = useSignal(false)
  useEffect(() => () => trial.stop(), [trial])
  const danger = DANGERS[operation.id]
  const { phase, fault } = trial
  const busy = phase.value === 'waiting' || phase.value === 'streaming'
  return (
    <form
      class="panel console"
      aria-label={say('docs_console', { call: `${operation.method} ${operation.path}` })}
      onSubmit={(event) => {
        event.preventDefault()
        if (danger) asks.value = true
        else void trial.send()
      }}
    >
      {operation.opens && <OpenerField opens={operation.opens} />}
      {operation.fields.length > 0 && (
        <div class="console-fields">
          {operation.fields.map((field) => (
            <CallField key={field.name} field={field} trial={trial} />
          ))}
        </div>
      )}
      <div class="row">
        <button type="submit" class={danger ? 'danger' : ''} disabled={busy}>
          {say('docs_send')}
        </button>
        {busy && (
          <button type="button" class="plain" onClick={trial.stop}>
            {say('docs_stop')}
          </button>
        )}
        {operation.costs && <span class="soft">{say('docs_cost')}</span>}
      </div>
      <p class="soft console-state" role="status">
        {phaseWords(phase.value)}
      </p>
      <p class="fault" role="alert">
        {fault.value === undefined ? '' : faultWords(fault.value)}
      </p>
      <Answered trial={trial} />
      <Terminal trial={trial} />
      {asks.value && danger && (
        <Sure
          danger={danger}
          onClose={() => {
            asks.value = false
          }}
          onSend={() => void trial.send()}
        />
      )}
    </form>
  )
}

/** What cannot be taken back is asked about first. */
const DANGERS: Record<string, keyof Words> = {
  'delete-mail': 'docs_sure_delete_mail',
  'delete-session': 'docs_sure_delete_session',
  claim: 'docs_sure_claim',
}

function phaseWords(phase: Trial['phase']['value']): string {
  if (phase === 'waiting') return say('docs_waiting')
  if (phase === 'streaming') return say('docs_streaming')
  if (phase === 'stopped') return say('docs_stopped')
  return phase === 'over' ? say('docs_over') : ''
}

function Terminal({ trial }: { trial: Trial }) {
  const { operation } = trial
  const line = curlLine(trial.request(), facts.site, operation.streams)
  return (
    <details class="more">
      <summary>{say('docs_curl')}</summary>
      <SecretSample text={line} secret={secretOf(operation.opens)} label={say('docs_curl_label')} />
    </details>
  )
}

interface SureProps {
  danger: keyof Words
  onClose(): void
  onSend(): void
}

function Sure({ danger, onClose, onSend }: SureProps) {
  return (
    <Dialog title={say('docs_sure')} onClose={onClose}>
      <p>{say(danger)}</p>
      <div class="row">
        <button
          type="button"
          class="danger"
          onClick={() => {
            onClose()
            onSend()
          }}
        >
          {say('docs_send')}
        </button>
        <button type="button" class="quiet" onClick={onClose}>
          {say('docs_keep')}
        </button>
      </div>
    </Dialog>
  )
}
