import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { httpsClient } from '@warder/command-line/https-client'
import { startMockProviders } from './google-mock-providers.ts'

const kaclsUrl = 'https://kms.example.com/google_cse'

test('the other key service gives its key for a token that our certs verify, for its resource, and for no other', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-parties-'))
  const parties = await startMockProviders()
  writeFileSync(join(folder, 'ca.crt'), parties.authority)
  const { origin } = new URL(parties.peerUrl)
  const http = httpsClient(origin, join(folder, 'ca.crt'))
  try {
    // Our tokens are signed as the provider's are, whose key set stands for `certs`.
    const keySet = await http.ask(`/keys/${parties.getIssuer('provider')}`)
    const ask = async () => ({ status: keySet.status, json: keySet.json as Record<string, unknown> })
    const [resourceName, wrappedKey] = ['item', 'AAAA']
    const post = async (
      claims: object,
      members: object = {},
      party: 'provider' | 'untrusted' = 'provider',
    ) => {
      const own = { iss: kaclsUrl, aud: 'kacls-migration', kacls_url: parties.peerUrl, resource_name: 'item' }
      const authentication = parties.token(party, { ...own, ...claims })
      const json = { authentication, resource_name: 'item', wrapped_key: 'AAAA', ...members }
      return http.ask('/peer/privilegedunwrap', { json })
    }
    assert.equal((await post({})).status, 403, 'before it has a key')
    parties.holdKey({ ask, kaclsUrl, resourceName, wrappedKey, key: 'a2V5' })
    assert.deepEqual((await post({})).json, { key: 'a2V5' })
    for (const claims of [
      { iss: 'https://other.example.com' },
      { aud: 'cse' },
      { kacls_url: kaclsUrl },
      { resource_name: 'other' },
      { exp: Math.floor(Date.now() / 1000) - 120 },
    ])
      assert.equal((await post(claims)).status, 403, JSON.stringify(claims))
    assert.equal((await post({}, { wrapped_key: 'BBBB' })).status, 403)
    assert.equal((await post({}, { resource_name: 'other' })).status, 403)
    assert.equal((await post({}, {}, 'untrusted')).status, 403)
    assert.equal((await http.ask('/keys/nobody')).status, 403)
  } finally {
    http.close()
    await parties.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
