import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { readConfiguredKeys } from './sp-keys.ts'
import { keyPair, sharedKey } from './testing/test-idp.ts'

const home = mkdtempSync(join(tmpdir(), 'warder-saml-keys-'))
after(() => rmSync(home, { recursive: true, force: true }))

it('a configured key must be RSA of at least 2048 bits, with a matching certificate', async () => {
  const [one, two] = [await sharedKey('one'), await sharedKey('two')]
  const [ec, weak] = [await keyPair('ec'), await keyPair('rsa', 1024)]
  for (const [name, { certificate, privateKey }] of Object.entries({ one, two, ec, weak })) {
    writeFileSync(join(home, `${name}.key`), privateKey.export({ format: 'pem', type: 'pkcs8' }))
    writeFileSync(join(home, `${name}.crt`), certificate)
  }
  writeFileSync(join(home, 'broken.key'), 'x')
  const read = (keys: readonly string[], certificates: readonly string[]) => () =>
    readConfiguredKeys(
      home,
      keys.map((name) => `${name}.key`),
      certificates.map((name) => `${name}.crt`),
    )
  assert.deepEqual(read([], [])(), [])
  const both = read(['one', 'two'], ['one', 'two'])()
  assert.deepEqual(
    both.map(({ certificate }) => certificate),
    [one.certificate, two.certificate],
  )
  assert.throws(read(['one'], ['two']), /two\.crt: the certificate does not belong to the key in one\.key/)
  assert.throws(read(['one'], []), /the same number of files/)
  assert.throws(read(['ec'], ['ec']), /ec\.key: .* RSA of at least 2048 bits/)
  assert.throws(read(['weak'], ['weak']), /RSA of at least 2048 bits/)
  assert.throws(read(['broken'], ['one']), /cannot read broken\.key/)
  assert.throws(read(['absent'], ['one']), /cannot read absent\.key/)
})
