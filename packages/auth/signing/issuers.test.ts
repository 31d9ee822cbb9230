import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startAuth } from '../testing/start.ts'
import { registerIssuer } from './signing-key-store.ts'

const place = '/.well-known/session-issuers'

it('the issuers of all nodes are published, the newest first, a thousand at most', async () => {
  await using auth = await startAuth({ config: { issuer: 'https://login.example' } })
  assert.deepEqual((await auth.call('GET', place)).json, { issuers: ['https://login.example'] })
  const now = auth.services.now()
  for (let node = 0; node < 1001; node += 1)
    await registerIssuer(auth.db, `https://node${node}.example`, now + 1 + node)
  const { issuers } = (await auth.call('GET', place)).json
  assert.equal(issuers.length, 1000)
  assert.equal(issuers[0], 'https://node1000.example')
  await registerIssuer(auth.db, 'https://node1.example', now + 2000)
  assert.equal((await auth.call('GET', place)).json.issuers[0], 'https://node1.example')
})

it('without published session keys no issuers are published', async () => {
  await using auth = await startAuth({ config: { publish_session_jwks: false } })
  assert.equal((await auth.call('GET', place)).status, 404)
})
