import assert from 'node:assert/strict'
import { test } from 'node:test'
import { driveSimpleSamlPhp } from './simplesamlphp.ts'
import { findSimpleSamlPhp } from './simplesamlphp-place.ts'

test('SimpleSAMLphp, unmodified, logs its user in and out again', async (context) => {
  const found = findSimpleSamlPhp()
  if (found === undefined) {
    context.skip(
      'SimpleSAMLphp is not here: apt-get install simplesamlphp php-xml php-mbstring, or set WARDER_SIMPLESAMLPHP (see conformance/README.md)',
    )
    return
  }
  const run = await driveSimpleSamlPhp(found)
  const claims = {
    sub: 'student',
    roles: ['member', 'student'],
    mail: 'student@example.org',
    other: undefined,
    as_as: 'sa',
    as_rid: 'sso',
  }
  assert.deepEqual(run.claims, claims)
  assert.match(run.encrypted, /the content encryption is not allowed: use AES-GCM/)
  assert.deepEqual(run.afterLogout, { location: 'https://app.example/bye', whoami: 401 })
  if (run.schema === undefined)
    context.diagnostic('xmllint is not here: the schema of the metadata was not checked')
  else assert.equal(run.schema, 'metadata validates')
})
