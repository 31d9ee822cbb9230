import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type Commit, query } from '@warder/storage'
import { removeEndedSessions, sessionInsertion } from '../sessions/session-store.ts'
import { startAuth } from '../testing/start.ts'
import { removeExpiredSecretIds, secretIdInsertion } from './approle-store.ts'
import { noTokenLimits } from './limits.ts'
import { removeExpiredTokens } from './token-store.ts'
import { issueToken } from './tokens.ts'

const rowsOf = (table: string) =>
  query<[], { readonly rows: number }>(`SELECT COUNT(*) AS rows FROM ${table}`)

it('sweeps delete only expired rows, in commits of a thousand', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { db } = auth
  const now = 1_000_000
  const role = { kind: 'approle', name: 'x', realm: '_', policies: [] } as const
  const unlimited = { usesLeft: -1, boundCidrs: [], tokenBoundCidrs: [] }
  const numbers = Array.from({ length: 2500 }, (_, index) => index)
  const token = (tokenTtl: number) =>
    issueToken({ ...role, tokenTtl, limits: noTokenLimits }, 'x', now).insertion
  const session = (index: number, endsAt: number) => {
    const ages = { createdAt: now, maxAge: 9000, maxStaleAge: 9000, endsAt }
    const owner = { realm: '_', username: 'x', scheme: 'up', certificateSha256: undefined } as const
    return sessionInsertion({ id: `s${index}`, ...owner, ...ages }, Buffer.alloc(1))
  }
  const secret = (index: number, expiresAt: number) =>
    secretIdInsertion({ accessor: `a${index}`, roleName: 'x', expiresAt, ...unlimited }, `v${index}`, now)
  await db.commit(numbers.map(() => token(10)))
  await db.commit(numbers.map((index) => session(index, now + 10)))
  await db.commit(numbers.map((index) => secret(index, now + 10)))
  await db.commit([
    token(1000),
    token(0),
    session(9999, now + 1000),
    secret(9999, 0),
    secret(9998, now + 1000),
  ])

  const sizes: number[] = []
  const watched: Commit = async (changes) => {
    const results = await db.commit(changes)
    sizes.push(...results.map(({ changes: rows }) => rows))
    return results
  }
  const left = async (table: string) => Number((await db.get(rowsOf(table), []))?.rows)
  assert.equal(await removeExpiredTokens(watched, now + 9), 0)
  assert.equal(await removeExpiredTokens(watched, now + 10), 2500, 'at its end a token is over')
  assert.equal(await left('app_token'), 2)
  assert.equal(await removeEndedSessions(watched, now + 10), 2500)
  assert.equal(await left('session'), 1)
  await removeExpiredSecretIds(watched, now + 10)
  assert.equal(await left('secret_id'), 2)
  const each = [1000, 1000, 500]
  assert.deepEqual(sizes, [0, ...each, ...each, ...each])
  assert.equal(await removeEndedSessions(watched, now + 2000, 'elsewhere'), 0, 'of another realm')
  assert.equal(await left('session'), 1)
})
