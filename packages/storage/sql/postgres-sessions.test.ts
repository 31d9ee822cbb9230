import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireOwnSessions } from './postgres.ts'
import type { Reader } from './postgres-reader.ts'

/** A connection whose statements are run by the processes that `next` names. */
function connectionTo(next: () => number): Pick<Reader, 'query'> {
  return { query: async () => ({ rows: [{ pid: next() }] }) as never }
}

test('connections with a process each are sessions of their own', async () => {
  await requireOwnSessions(
    connectionTo(() => 1),
    connectionTo(() => 2),
  )
})

test('one that was lost and made again meanwhile is one, too', async () => {
  let asked = 0
  await requireOwnSessions(
    connectionTo(() => (asked++ === 0 ? 1 : 3)),
    connectionTo(() => 2),
  )
})

test('a pooler that gives the same connection to both, or another each time, is refused', async () => {
  const refused = /^database_url: a connection pooler in front of PostgreSQL/
  const last = (): number => 1
  await assert.rejects(requireOwnSessions(connectionTo(last), connectionTo(last)), { message: refused })
  let turn = 0
  const inTurn = (): number => {
    turn = (turn + 1) % 3
    return turn
  }
  await assert.rejects(requireOwnSessions(connectionTo(inTurn), connectionTo(inTurn)), { message: refused })
})
