import assert from 'node:assert/strict'
import { it } from 'node:test'
import { change, query } from '@warder/storage'
import { bootstrap } from '../bootstrap.ts'
import { authService } from '../service.ts'
import { startAuth } from '../testing/start.ts'

const keys = query<[], { readonly purpose: string; readonly sealed_private: Uint8Array }>(
  "SELECT purpose, sealed_private FROM signing_key WHERE purpose IN ('session', 'certificate')",
)
const putKey = query<[sealed: Uint8Array, purpose: string], unknown>(
  'UPDATE signing_key SET sealed_private = ? WHERE purpose = ?',
)
const loseSessionKey = query<[], unknown>("DELETE FROM signing_key WHERE purpose = 'session'")

it('the service does not start without its signing keys, or with swapped ones (A33)', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const cookie = await auth.superCookie()
  const start = () => authService.build(auth.environment)
  await start()
  const kept = await auth.db.all(keys, [])
  const [one, two] = kept
  assert.ok(one !== undefined && two !== undefined && kept.length === 2)
  const put = (first: Uint8Array, second: Uint8Array) =>
    auth.db.commit([change(putKey, [first, one.purpose]), change(putKey, [second, two.purpose])])
  await put(two.sealed_private, one.sealed_private)
  await assert.rejects(start)
  await put(one.sealed_private, two.sealed_private)
  await start()
  await auth.db.commit([change(loseSessionKey, [])])
  await assert.rejects(start, /signing key for session/)
  // Initialization then creates a new key, which does not verify cookies of the lost one.
  await bootstrap(auth.environment, 'correct horse')
  const { services } = await start()
  assert.equal(await services.sessions.authenticate(cookie, {}), undefined)
})
