import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byteString, Enumeration, enumeration, Tag, type TtlvNode } from '@warder/kmip-codec'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'

const { alice } = await startKmipFixture()

const { C_Initialize, C_GetInfo, C_Finalize } = Enumeration.PKCS_11Function

test("a PKCS#11 client can initialize, get the library's information and finalize; functions that need a token are not supported", async () => {
  const call = (name: number, ...members: readonly TtlvNode[]) =>
    alice.do('PKCS_11', [enumeration(Tag.PKCS_11Function, name), ...members])
  const begun = await call(C_Initialize, byteString(Tag.PKCS_11InputParameters, Buffer.of(1)))
  assert.equal(begun.get(Tag.PKCS_11ReturnCode), 0)
  const correlation = byteString(Tag.CorrelationValue, begun.get(Tag.CorrelationValue) as Uint8Array)
  const told = await call(C_GetInfo, correlation)
  const info = Buffer.from(told.get(Tag.PKCS_11OutputParameters) as Uint8Array)
  assert.deepEqual(
    [info.length, info[0], info[1], info.toString('latin1', 2, 34).trim()],
    [76, 2, 40, 'Warder'],
  )
  assert.equal((await call(C_GetInfo)).get(Tag.PKCS_11ReturnCode), 0x190)
  assert.equal((await call(0x3c, correlation)).get(Tag.PKCS_11ReturnCode), 0x54)
  assert.equal((await call(C_Finalize, correlation)).get(Tag.PKCS_11ReturnCode), 0)
  await alice.fails('PKCS_11', [], 'MissingData')
})
