import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Enumeration,
  enumeration,
  findMember,
  integer,
  kmipVersions,
  listVersions,
  operationIn,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  valueName,
} from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import { type KmipClient, kmipClient } from '../../testing/kmip-client.ts'
import { kmipOperations } from '../kmip-operations.ts'

const kms = await startSharedKms()
const draftKms = await startSharedKms({ config: { kmip_draft_3_0: true } })

type QueryFunction = keyof typeof Enumeration.QueryFunction

async function ask(client: KmipClient, ...functions: readonly QueryFunction[]): Promise<readonly TtlvNode[]> {
  const { nodes } = await client.do(
    'Query',
    functions.map((name) => enumeration(Tag.QueryFunction, Enumeration.QueryFunction[name])),
  )
  return nodes
}

const names = (nodes: readonly TtlvNode[], tag: number) =>
  nodes.filter((node) => node.tag === tag).map((node) => Number(node.value))

for (const version of listVersions(true)) {
  test(`Query in KMIP ${version} lists only operations that the server supports and the version has`, async () => {
    const client = kmipClient((version === '3.0' ? draftKms : kms).user('alice'), { version })
    const nodes = await ask(client, 'QueryOperations', 'QueryObjects')
    const codes = names(nodes, Tag.Operation)
    const expected = [...kmipOperations.keys()].filter((name) => operationIn(version, name))
    assert.deepEqual(new Set(codes.map((code) => valueName('Operation', code))), new Set(expected))
    assert.equal(new Set(codes).size, codes.length)
    const types = names(nodes, Tag.ObjectType).map((code) => valueName('ObjectType', code))
    assert.ok(types.includes('SymmetricKey') && types.includes('SplitKey'))
    assert.equal(types.includes('CertificateRequest'), version >= '2.0')
    assert.equal(types.includes('PGPKey'), version >= '1.2')
  })
}

test('every listed operation is supported: none gets OperationNotSupported', async () => {
  for (const name of kmipOperations.keys()) {
    const isOf30 = !operationIn('2.1', name)
    const client = isOf30
      ? kmipClient(draftKms.user('alice'), { version: '3.0' })
      : kmipClient(kms.user('alice'))
    const { reason } = await client.ask(name)
    assert.notEqual(reason, 'OperationNotSupported', name)
    assert.notEqual(reason, 'GeneralFailure', name)
  }
})

test('Query in 2.1 returns server, profiles, capabilities, RNG and storage', async () => {
  const client = kmipClient(kms.user('alice'))
  const nodes = await ask(client, ...(Object.keys(Enumeration.QueryFunction) as QueryFunction[]))
  const member = (tag: number) => nodes.find((node) => node.tag === tag)
  assert.equal(member(Tag.VendorIdentification)?.value, 'Warder')
  const server = member(Tag.ServerInformation) as StructureNode
  assert.equal(findMember(server, Tag.ServerName)?.value, 'Warder')
  const capability = member(Tag.CapabilityInformation) as StructureNode
  for (const tag of [Tag.StreamingCapability, Tag.AsynchronousCapability, Tag.BatchUndoCapability])
    assert.equal(findMember(capability, tag)?.value, true)
  assert.equal(findMember(capability, Tag.AttestationCapability)?.value, false)
  const random = member(Tag.RNGParameters) as StructureNode
  assert.equal(findMember(random, Tag.RNGAlgorithm)?.value, Enumeration.RNGAlgorithm.DRBG)
  assert.ok(names(nodes, Tag.ProfileInformation).length >= 10)
  assert.ok(member(Tag.ProtectionStorageMasks))
  assert.deepEqual(await ask(client), [])
  assert.deepEqual(
    await ask(client, 'QueryExtensionMap', 'QueryAttestationTypes', 'QueryApplicationNamespaces'),
    [],
  )
})

test('Query returns nothing to an older client that its version lacks', async () => {
  const client = kmipClient(kms.user('alice'), { version: '1.2' })
  const nodes = await ask(client, 'QueryServerInformation', 'QueryProfiles', 'QueryCapabilities', 'QueryRNGs')
  assert.deepEqual(
    nodes.map(({ tag }) => tag),
    [Tag.VendorIdentification, Tag.ServerInformation],
  )
})

test("DiscoverVersions returns the common versions in the client's order, all of them without a list, and none for unknown ones", async () => {
  const client = kmipClient(kms.user('alice'))
  const listed = async (...asked: readonly (readonly [number, number])[]) => {
    const { nodes } = await client.do(
      'DiscoverVersions',
      asked.map(([major, minor]) =>
        structure(Tag.ProtocolVersion, [
          integer(Tag.ProtocolVersionMajor, major),
          integer(Tag.ProtocolVersionMinor, minor),
        ]),
      ),
    )
    return nodes.map((node) =>
      [Tag.ProtocolVersionMajor, Tag.ProtocolVersionMinor]
        .map((tag) => findMember(node as StructureNode, tag)?.value)
        .join('.'),
    )
  }
  assert.deepEqual(await listed(), [...kmipVersions])
  assert.deepEqual(await listed([1, 2], [9, 9], [2, 1], [1, 2]), ['1.2', '2.1'])
  assert.deepEqual(await listed([3, 0]), [])
})
