import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openToken, type Token } from '@warder/pkcs11'
import { buildFaulty, missingFaulty } from '@warder/pkcs11/testing'
import { createHsms, type WrappingUse } from './hsms.ts'
import { unwrapMaterial, wrapMaterial } from './wrapped-material.ts'

const skip = missingFaulty
const folder = mkdtempSync(join(tmpdir(), 'warder-wrapping-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const key = { id: 'hsm::main::kek', hsm: 'main', label: 'kek', keyId: '0a' }
const row = { object: 'one', wrappingKey: key.id }
const options = { object: 'one', algorithms: ['A256GCM'] } as const

/** A token of the faulty library, and how its next requests fail. */
async function openFaulty(): Promise<{ readonly token: Token; fail(fault: string | undefined): void }> {
  const [faultFile, pinFile] = [join(folder, 'fault'), join(folder, 'pin')]
  writeFileSync(pinFile, 'good', { mode: 0o600 })
  const env = { ...process.env, FAULT_FILE: faultFile, LOGIN_LOG: join(folder, 'logins') }
  const token = await openToken({ library: buildFaulty(folder), token: { label: 'faulty' }, pinFile, env })
  return {
    token,
    fail: (fault) =>
      fault === undefined ? rmSync(faultFile, { force: true }) : writeFileSync(faultFile, fault),
  }
}

test('material is not opened with garbage of a token, and a failure of its library is named', {
  skip,
}, async () => {
  const { token, fail } = await openFaulty()
  try {
    const uses: WrappingUse[] = []
    const record = async (use: WrappingUse) => void uses.push(use)
    const hsms = createHsms([{ name: 'main', admins: [], token }], { rules: [], record })
    const material = randomBytes(5000)
    const wrapped = await wrapMaterial(hsms, key, options, material)
    assert.ok(!wrapped.includes(material.subarray(0, 16)))
    assert.deepEqual(await unwrapMaterial(hsms, row, wrapped), material)
    const wrong = { kind: 'crypto_failure', message: /its key hsm::main::kek is not the one that wrapped it/ }
    await assert.rejects(unwrapMaterial(hsms, { ...row, object: 'two' }, wrapped), wrong)
    for (const fault of ['garbage data', 'short data']) {
      fail(fault)
      await assert.rejects(unwrapMaterial(hsms, row, wrapped), wrong)
      const lost = await wrapMaterial(hsms, key, options, material)
      fail(undefined)
      await assert.rejects(unwrapMaterial(hsms, row, lost), wrong)
    }
    fail('device error')
    await assert.rejects(unwrapMaterial(hsms, row, wrapped), {
      kind: 'hsm_unavailable',
      message: /^The HSM main/,
    })
    fail(undefined)
    for (const broken of [Buffer.alloc(0), Buffer.from([255, 255]), wrapped.subarray(0, wrapped.length - 1)])
      await assert.rejects(unwrapMaterial(hsms, row, broken))
    await assert.rejects(unwrapMaterial(undefined, row, wrapped), {
      kind: 'hsm_unavailable',
      message: 'The settings of this server contain no HSM main, which has the key.',
    })
  } finally {
    await token.close()
  }
})
