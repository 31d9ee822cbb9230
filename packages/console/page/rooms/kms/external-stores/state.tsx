import type { Reply } from '@warder/client/browser'
import { toCurlJson } from '../../../parts/command.ts'
import { Refusal } from '../../../parts/refusal.tsx'
import { Status } from '../../../parts/status.tsx'
import { Time } from '../../../parts/time.tsx'
import { texts } from '../../../texts.ts'

const words = texts.externalStores

export type Store = Reply<'external.list'>[number]

/** Vendors that this page describes, by the names of their stores. */
export type Vendor = keyof typeof words.vendors

export const isVendor = (name: string): name is Vendor => Object.hasOwn(words.vendors, name)
export const storePath = (name: string): string => `/ui/external-stores/${encodeURIComponent(name)}`
export const storeTitle = (name: string): string => (isVendor(name) ? words.vendors[name] : name)

/** One word, for copies. */
export const storeState = ({ enabled, stopped }: Store): keyof typeof words.states =>
  stopped !== null ? 'stopped' : enabled ? 'serving' : 'disabled'

const kinds = { serving: 'good', stopped: 'danger', disabled: 'neutral' } as const

export function StoreState({ store }: { readonly store: Store }) {
  const state = storeState(store)
  return (
    <>
      <Status kind={kinds[state]}>{words.states[state]}</Status>
      {store.stopped !== null && (
        <>
          {' '}
          {words.by} <bdi>{store.stopped.by}</bdi>, <Time at={store.stopped.at} isShort />
        </>
      )}
    </>
  )
}

/** Only those who manage external key stores read them. */
export function StoreRefusal({ error, retry }: { readonly error: unknown; readonly retry: () => void }) {
  return (
    <Refusal
      error={error}
      retry={retry}
      needs={words.needsRight}
      command={toCurlJson('/access/grant', { user_id: 'USER', operation_types: ['external'] })}
    />
  )
}
