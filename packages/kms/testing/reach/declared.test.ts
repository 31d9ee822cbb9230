import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '@warder/base'
import { getReach, rights } from '@warder/keys/testing'
import { kmipOperations } from '@warder/kmip-server/testing'
import { openSqlite } from '@warder/storage'
import { kmsOperations } from '../../service/operations.ts'

/** Effects on what belongs to the caller, or on no object: they need no right on an object of others. */
const own: ReadonlySet<string> = new Set([
  'reveal existence',
  'reveal public',
  // Of administrators.
  'reveal installation',
  'make object',
  'make session',
  'make credential',
  'end credential',
  'end session',
  'change names',
  'change settings',
])

/** Effects that something else than a right on the object permits. */
const otherwise: Readonly<Record<string, readonly string[]>> = {
  // Limited to what the caller owns, or may locate.
  'access.obtained': ['reveal attributes'],
  'access.owned': ['reveal attributes'],
  'crypto.keys.list': ['reveal attributes'],
  'pki.authorities.list': ['reveal attributes'],
  'transit.keys.list': ['reveal attributes'],
  GetConstraints: ['reveal attributes'],
  // About the caller or the installation.
  'server.me': ['reveal attributes'],
  'external.list': ['reveal attributes'],
  'external.check': ['reveal attributes'],
  'external.aws.keys.list': ['reveal attributes'],
  // Of administrators of an HSM.
  'crypto.hsms.keys.list': ['reveal attributes'],
  'crypto.hsms.wrapping.get': ['reveal attributes'],
  // By the right `audit`, which is on no object.
  'audit.records': ['reveal records'],
  'audit.counts': ['reveal records'],
  'audit.export': ['reveal records'],
  'audit.verify': ['reveal records'],
  // For other nodes of the database.
  'audit.node': ['reveal records'],
  // Of owners and members of groups.
  'access.groups.read': ['reveal grants'],
  // Of the owner of the key, of officers, or about the caller.
  'access.explain': ['reveal grants'],
  'access.report': ['reveal grants', 'reveal attributes'],
  'access.leaver': ['reveal grants'],
  'access.report.export': ['reveal grants'],
  // Of officers, or about the caller.
  'kmip.devices.list': ['reveal attributes'],
  'kmip.devices.get': ['reveal attributes'],
  // Of officers.
  'access.transfer': ['change owner'],
  'access.holdings': ['reveal grants'],
  'access.officers.status': ['reveal attributes'],
  'access.officers.ceremony': ['reveal attributes'],
  'access.officers.activate': ['change grants'],
  'access.officers.disable': ['change grants'],
  'access.approvals.list': ['reveal attributes'],
  'access.approvals.get': ['reveal attributes'],
  // Settings of ACME, for those who may have certificates issued.
  'pki.acme.show': ['reveal attributes'],
  // The owner of the authority opened a directory for accounts of ACME.
  'acme.finalize': ['make certificate'],
  'acme.revoke_cert': ['end certificate'],
  // With a private key that the holder of `decrypt` can unwrap.
  'google_cse.privatekeysign': ['make signature'],
  'google_cse.digest': ['reveal validity'],
}

const rest = kmsOperations({
  db: openSqlite({ path: ':memory:' }),
  clock: systemClock,
  baseUrl: 'https://localhost',
  authProxy: async () => assert.fail('only described'),
  transit: true,
  external: 'described',
}).map(({ name, reach, asks = [], access }) => {
  const [, right] = /key right.*?: (\w+)/.exec(access.name) ?? []
  return { name, reach, asks: [...asks, ...(right === undefined ? [] : [right])] }
})
const kmip = [...kmipOperations.values()].map(({ name, reach, asks = [], access }) => ({
  name,
  reach,
  asks: [...asks, ...(access.kind === 'object' ? [access.right] : [])],
}))

test('an operation has only effects on an object that its required rights permit', () => {
  for (const { name, reach, asks } of [...rest, ...kmip]) {
    const known = asks.map((ask) => rights.find((right) => right === ask) ?? assert.fail(`${name}: ${ask}`))
    const permitted = new Set<string>([...known.flatMap((right) => [...getReach(right)]), ...own])
    for (const effect of otherwise[name] ?? []) permitted.add(effect)
    assert.deepEqual(
      reach.filter((effect) => !permitted.has(effect)),
      [],
      name,
    )
  }
})

test('each right permits an operation with an effect, except rights without an object', () => {
  for (const right of rights) {
    const reach = getReach(right)
    const asking = [...rest, ...kmip].filter(({ asks }) => asks.some((ask) => ask === right))
    for (const effect of reach)
      assert.ok(
        asking.some((operation) => operation.reach.some((one) => one === effect)),
        `${right}: no operation has the effect "${effect}"`,
      )
    assert.equal(reach.size === 0, right === 'hash' || right === 'import', right)
  }
})
