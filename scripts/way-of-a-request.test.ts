import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** A request must pass through fewer files of its own than this. */
const tooMany = {
  'POST /v1/crypto/encrypt': 37,
  'KMIP Create': 37,
  'POST /login with TOTP': 37,
  'SAML ACS': 37,
  'ACME finalize': 72,
}

test('each of the measured requests goes through few files of its own, and an ACME certificate passes no KMIP but names of tags', async () => {
  const script = fileURLToPath(new URL('way-of-a-request.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--list'])
  const counts = [...stdout.matchAll(/^(.+): (\d+) files of its own/gm)].map(([, name = '', count]) => ({
    name,
    count: Number(count),
  }))
  assert.deepEqual(
    counts.map(({ name }) => name),
    Object.keys(tooMany),
  )
  for (const { name, count } of counts) {
    const limit = tooMany[name as keyof typeof tooMany]
    assert.ok(count > 10 && count < limit, `${name}: ${count} files`)
  }
  assert.doesNotMatch(
    stdout.slice(stdout.indexOf('ACME finalize:')),
    /packages\/kmip-server|kmip-codec\/(?!tables\/tags)/,
  )
})
