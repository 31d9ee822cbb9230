import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { sharedKey, startValidator } from '@warder/auth/testing'
import { canRun, runProgram } from './run-program.ts'

const source = fileURLToPath(new URL('./saml-java/Sign.java', import.meta.url))
const skip = canRun('javac', ['-version']) ? false : 'there is no JDK: apt-get install default-jdk-headless'

/** Keycloak and Shibboleth sign with the JDK, which breaks base64 into lines that end with `&#13;`. */
test('responses that the JDK signs are accepted, and refused when they were changed', { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-saml-java-'))
  try {
    const validator = await startValidator()
    const { privateKey, certificate } = await sharedKey('idp')
    const [key, crt] = [join(folder, 'key.pem'), join(folder, 'crt.pem')]
    writeFileSync(key, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 })
    writeFileSync(crt, certificate)
    assert.equal((await runProgram('javac', ['-d', folder, source])).code, 0)
    const input = Buffer.from(
      validator.response({ sign: [], attributes: { mail: ['ann@example.org', 'a&b <c>'] } }),
    )
    for (const [bits, ...names] of [
      ['256', 'Assertion'],
      ['512', 'Assertion', 'Response'],
    ] as const) {
      const { code, out, err } = await runProgram('java', ['-cp', folder, 'Sign', key, crt, bits, ...names], {
        input,
      })
      assert.equal(code, 0, err)
      const xml = out.toString('utf8')
      assert.match(xml, /&#13;/)
      const found = validator.validate(xml)
      assert.ok(typeof found === 'object', String(found))
      assert.deepEqual(found.attributes.get('mail'), ['ann@example.org', 'a&b <c>'])
      assert.match(String(validator.validate(xml.replace('>ann<', '>bob<'))), /the signature is invalid/)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
