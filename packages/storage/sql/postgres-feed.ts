import type pg from 'pg'
import type { PostgresClients } from '../postgres/clients.ts'

/** By topic; a key undefined = anything may have changed. */
export type Listeners = Map<string, Set<(key: string | undefined) => void>>

export const channel = 'warder_changed'
const reconnectAfterMs = [50, 200, 1000, 5000]

/** @param payload of a notice on the channel: `topic:key` */
export function notifyListeners(listeners: Listeners, payload: string): void {
  const split = payload.indexOf(':')
  for (const listener of listeners.get(payload.slice(0, split)) ?? []) listener(payload.slice(split + 1))
}

interface Feed {
  close(): void
}

/**
 * LISTENs on a separate connection, which is probed periodically: silence may mean a lost connection. After a lost
 * connection anything may have changed, so listeners are called with `undefined`.
 */
export function listenForChanges(
  { Client, isOutdated }: PostgresClients,
  listeners: Listeners,
  checkEveryMs: number,
): Feed {
  let closed = false
  let failures = 0
  let current: pg.Client | undefined
  const notifyAll = (): void => {
    for (const known of listeners.values()) for (const listener of known) listener(undefined)
  }
  const start = async (): Promise<void> => {
    // The time to try again may come after the end.
    if (closed) return
    const client = new Client()
    current = client
    client.on('error', () => undefined)
    let check: NodeJS.Timeout | undefined
    /** An end that the other side has to agree to may never come; its end has another one made. */
    const giveUp = (): void => void client.connection.stream.destroy()
    const checkSoon = (): void => {
      check = setTimeout(() => {
        if (isOutdated(client)) giveUp()
        else client.query('SELECT 1').then(checkSoon, giveUp)
      }, checkEveryMs)
      check.unref()
    }
    client.once('end', () => {
      clearTimeout(check)
      if (closed) return
      notifyAll()
      const wait = reconnectAfterMs[Math.min(failures, reconnectAfterMs.length - 1)]
      failures += 1
      setTimeout(() => void start().catch(() => undefined), wait).unref()
    })
    client.on('notification', ({ payload = '' }) => notifyListeners(listeners, payload))
    await client.connect()
    if (closed) {
      await client.end()
      return
    }
    try {
      await client.query(`LISTEN ${channel}`)
    } catch {
      giveUp()
      return
    }
    failures = 0
    notifyAll()
    checkSoon()
  }
  void start().catch(() => undefined)
  return {
    close() {
      closed = true
      void current?.end().catch(() => undefined)
    },
  }
}
