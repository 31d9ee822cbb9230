import type { Answer, HttpsClient } from '../https-client.ts'
import { requireSuccess, send } from '../login/exchange.ts'
import type { Session } from '../login/login.ts'

/** The API of the service, with the session of an administrator. */
export interface AdminApi {
  /** @returns the parsed body @throws StartupError with the message of the service, unless the request succeeds */
  ask(method: string, path: string, json?: unknown): Promise<unknown>
  /** Reads a path; undefined for 404. @throws StartupError */
  find(path: string): Promise<unknown>
  /** Entries of a list, page by page. `getKey` returns the key that the next page begins after. */
  pages<T>(path: string, getKey: (entry: T) => string): Promise<readonly T[]>
  /** Ends the session of this run. */
  close(): Promise<void>
}

const pageSize = 5000
const maxPages = 10_000

/** @param session session of the administrator; `close` ends it, unless `keep` is true */
export function adminApi(client: HttpsClient, { id, token }: Session, keep: boolean): AdminApi {
  const request = (method: string, path: string, json?: unknown): Promise<Answer> =>
    send(client, path, {
      method,
      headers: { cookie: `_ea_=${token}` },
      ...(json === undefined ? {} : { json }),
    })
  const ask: AdminApi['ask'] = async (method, path, json) =>
    requireSuccess(await request(method, path, json)).json
  return {
    ask,
    async find(path) {
      const answer = await request('GET', path)
      return answer.status === 404 ? undefined : requireSuccess(answer).json
    },
    async pages<T>(path: string, getKey: (entry: T) => string): Promise<readonly T[]> {
      const entries: T[] = []
      for (let page = 0; page < maxPages; page++) {
        const last = entries.at(-1)
        const after = last === undefined ? '' : `&after=${encodeURIComponent(getKey(last))}`
        const found = (await ask('GET', `${path}?limit=${pageSize}${after}`)) as readonly T[]
        for (const entry of found) entries.push(entry)
        if (found.length < pageSize) break
      }
      return entries
    },
    async close() {
      // The session may be among those that were just ended; that is not an error.
      if (!keep) await request('DELETE', '/sessions', { session_ids: [id] }).catch(() => undefined)
      client.close()
    },
  }
}
