import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canRun } from './run-program.ts'
import { drivePySaml2, hasXmlsec } from './saml-pysaml2.ts'

const folder = process.env.WARDER_PYSAML2
const env: Readonly<Record<string, string>> = folder === undefined ? {} : { PYTHONPATH: folder }
const skip =
  hasXmlsec() && canRun('python3', ['-c', 'import saml2'], env)
    ? false
    : 'pysaml2 is not here: apt-get install xmlsec1, pip install --target FOLDER pysaml2, and set WARDER_PYSAML2 to the folder'

test('pysaml2, an identity provider with its own XML stack, logs people in and out at both services', {
  skip,
}, async () => {
  const { code, err, steps } = await drivePySaml2(env)
  assert.equal(code, 0, err)
  assert.deepEqual(steps, [
    'login with mapped attributes, assertion signed',
    'response signed',
    'both signed, SHA-512',
    'assertion encrypted with AES-GCM',
    'assertion encrypted with CBC is refused',
    'SHA-1 is refused',
    'no signature is refused',
    'login at the web page of the kms',
    'single logout by the identity provider',
    'single logout by the user',
  ])
})
