import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Enumeration, enumeration, type StructureNode, structure, Tag, textString } from '@warder/kmip-codec'
import { startKms } from '@warder/kms/testing'
import { kmipClient } from '../testing/kmip-client.ts'

type Type = keyof typeof Enumeration.CredentialType

const credential = (type: Type) =>
  structure(Tag.Credential, [
    enumeration(Tag.CredentialType, Enumeration.CredentialType[type]),
    structure(Tag.CredentialValue, [textString(Tag.Username, 'mallory'), textString(Tag.Password, 'any')]),
  ])
const header = (...types: readonly Type[]): StructureNode =>
  structure(Tag.Authentication, types.map(credential))
const query = [
  {
    operation: 'Query',
    payload: [enumeration(Tag.QueryFunction, Enumeration.QueryFunction.QueryOperations)],
  },
] as const

for (const ignored of [false, true]) {
  const outcome = ignored ? 'Success' : 'OperationFailed'
  test(`A password in the header beside a client certificate: ${outcome} with kmip_ignore_header_password = ${ignored}`, async () => {
    await using kms = await startKms({
      clientCertificates: true,
      config: { kmip_ignore_header_password: ignored },
    })
    const asked = async (caller: Parameters<typeof kmipClient>[0], authentication: StructureNode) =>
      (await kmipClient(caller, { version: '1.0' }).send(query, { authentication })).items[0]?.status
    const device = kms.certified()
    assert.equal(await asked(device, header('UsernameAndPassword')), outcome)
    assert.equal(await asked(device, header('UsernameAndPassword', 'UsernameAndPassword')), outcome)
    // Anything else has to be checked, and so has a password without a certificate.
    assert.equal(await asked(device, header('UsernameAndPassword', 'Device')), 'OperationFailed')
    assert.equal(await asked(device, structure(Tag.Authentication, [])), 'OperationFailed')
    assert.equal(await asked(kms.user('alice'), header('UsernameAndPassword')), 'OperationFailed')
  })
}
