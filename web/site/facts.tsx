import type { ComponentChild } from 'preact'

/** Names and values. Null: left out. */
export type FactList = readonly (readonly [name: string, value: ComponentChild | null])[]

export function Facts({ facts }: { facts: FactList }) {
  return (
    <dl class="facts">
      {facts.map(
        ([name, value]) =>
          value !== null && (
            <>
              <dt>{name}</dt>
              <dd>
                <bdi>{value}</bdi>
              </dd>
            </>
          ),
      )}
    </dl>
  )
}
