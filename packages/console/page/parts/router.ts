import { useMemo, useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
let hasNavigated = false

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function notify(): void {
  hasNavigated = true
  for (const listener of listeners) listener()
}
window.addEventListener('popstate', notify)

/** false: the page was just loaded, and the browser decides about the focus. */
export const isNavigated = (): boolean => hasNavigated

/** Goes to another room. @param to path and query of this origin */
export function navigate(to: string, { replace = false } = {}): void {
  if (replace) window.history.replaceState(null, '', to)
  else window.history.pushState(null, '', to)
  notify()
}

const readPath = (): string => window.location.pathname + window.location.search

/** The present address. */
export function useAddress(): URL {
  const path = useSyncExternalStore(subscribe, readPath)
  return useMemo(() => new URL(path, window.location.origin), [path])
}

/**
 * The path of a room of this page, from an address that others may have written.
 * @returns path and query; undefined for every address outside of `/ui/` of this origin
 */
export function toRoomPath(text: string | null): string | undefined {
  if (text === null || !URL.canParse(text, window.location.origin)) return undefined
  const url = new URL(text, window.location.origin)
  const isOwn = url.origin === window.location.origin && url.pathname.startsWith('/ui/')
  return isOwn ? url.pathname + url.search : undefined
}

/** Values of `{name}` in the pattern of a room; undefined if the path is of another room. */
export function matchRoom(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split('/')
  const given = path.replace(/(?<=.)\/$/, '').split('/')
  if (wanted.length !== given.length) return undefined
  const values: Record<string, string> = {}
  for (const [index, segment] of wanted.entries()) {
    const value = given[index] ?? ''
    const name = /^\{(\w+)\}$/.exec(segment)?.[1]
    if (name === undefined && segment !== value) return undefined
    if (name === undefined) continue
    try {
      values[name] = decodeURIComponent(value)
    } catch {
      return undefined
    }
  }
  return values
}
