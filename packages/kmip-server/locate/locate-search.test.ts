import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  attributeMembers,
  createApprovalPolicy,
  createDestructionPolicy,
  grantChanges,
  type ManagedObject,
  newObjectDefaults,
  type ObjectId,
  objectTypes,
  shortIdentifier,
  states,
  UnitOfWork,
  type UnitOfWorkServices,
} from '@warder/keys'
import {
  bigInteger,
  boolean,
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  interval,
  longInteger,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { kmsMigrations } from '@warder/kms/testing'
import { change, type Database, migrate, openPostgres, openSqlite, query } from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import fc from 'fast-check'
import type { AttributeState } from '../attributes/attribute-view.ts'
import { type Criteria, locateRequest, readCriteria } from './locate-criteria.ts'
import { dateNotSet, isStored, meetsAll } from './locate-match.ts'
import { search } from './locate-search.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-locate-'))
const server = await startTestPostgres()
after(async () => {
  if ('stop' in server) await server.stop()
  rmSync(folder, { recursive: true, force: true })
})
const engines = [
  {
    name: 'SQLite',
    skip: false as const,
    open: async () => openSqlite({ path: join(folder, 'kms.db') }),
    runs: 100,
  },
  {
    name: 'PostgreSQL',
    skip: 'missing' in server ? server.missing : (false as const),
    open: async () => {
      assert.ok('database' in server)
      return openPostgres({ url: await server.database() })
    },
    runs: 25,
  },
]

const now = 1_800_000_000_000
const seconds = now / 1000
const users = ['alice', 'bob'] as const
const { LinkType, NameType, UsageLimitsUnit, ObjectType, CryptographicAlgorithm } = Enumeration

// Few values of each, so that objects share them and searches find some.
const text = fc.constantFrom('a', 'b', 'A', 'a b', "it's", 'ü\u0000x', 'x'.repeat(1500))
const id = fc.constantFrom(
  'k1',
  '0190aaaa-0000-4000-8000-000000000001',
  '0190AAAA-0000-4000-8000-000000000001',
  'kü',
)
const date = fc.constantFrom(seconds - 100, seconds - 1, seconds, seconds + 1, seconds + 100, -5, dateNotSet)
const optionally = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const milliseconds = optionally(
  fc
    .tuple(fc.constantFrom(-100, -1, 0, 1, 100), fc.constantFrom(0, 1, 999))
    .map(([s, ms]) => now + s * 1000 + ms),
)

const nameNode = (value: fc.Arbitrary<string | undefined>, type: fc.Arbitrary<number | undefined>) =>
  fc
    .tuple(value, type)
    .map(([name, kind]) =>
      structure(Tag.Name, [
        name === undefined ? undefined : textString(Tag.NameValue, name),
        kind === undefined ? undefined : enumeration(Tag.NameType, kind),
      ]),
    )
const nameType = fc.constantFrom<number>(NameType.UninterpretedTextString, NameType.URI, 0x80000001)
const linkNode = (linked: fc.Arbitrary<string | undefined>, type: fc.Arbitrary<number | undefined>) =>
  fc
    .tuple(linked, type)
    .map(([other, kind]) =>
      structure(Tag.Link, [
        kind === undefined ? undefined : enumeration(Tag.LinkType, kind),
        other === undefined ? undefined : textString(Tag.LinkedObjectIdentifier, other),
      ]),
    )
const linkType = fc.constantFrom<number>(
  LinkType.PublicKeyLink,
  LinkType.PrivateKeyLink,
  LinkType.NextLink,
  0x80000009,
)
const specific = (data: fc.Arbitrary<string | undefined>) =>
  fc
    .tuple(text, data)
    .map(([space, value]) =>
      structure(Tag.ApplicationSpecificInformation, [
        textString(Tag.ApplicationNamespace, space),
        value === undefined ? undefined : textString(Tag.ApplicationData, value),
      ]),
    )
const vendorValue = fc.oneof(
  text.map((value) => textString(Tag.AttributeValue, value)),
  fc.constantFrom(1, -1).map((value) => integer(Tag.AttributeValue, value)),
  date.map((value) => dateTime(Tag.AttributeValue, value)),
  fc.constant(bigInteger(Tag.AttributeValue, Uint8Array.of(5))),
)
const vendorNode = (value: fc.Arbitrary<TtlvNode | undefined>) =>
  fc
    .tuple(fc.constantFrom('x', 'y'), fc.constantFrom('one', 'two'), value)
    .map(([vendor, name, held]) =>
      structure(Tag.Attribute, [
        textString(Tag.VendorIdentification, vendor),
        textString(Tag.AttributeName, name),
        held,
      ]),
    )
const limits = fc.tuple(
  fc.bigInt(0n, 3n),
  fc.bigInt(0n, 3n),
  fc.constantFrom(UsageLimitsUnit.Byte, UsageLimitsUnit.Object),
)
const stored: readonly fc.Arbitrary<TtlvNode>[] = [
  nameNode(text, nameType),
  linkNode(id, linkType),
  specific(text),
  vendorNode(vendorValue),
  text.map((value) => textString(Tag.ObjectGroup, value)),
  text.map((value) => textString(Tag.Comment, value)),
  fc.boolean().map((value) => boolean(Tag.Sensitive, value)),
  fc.boolean().map((value) => boolean(Tag.Extractable, value)),
  fc.boolean().map((value) => boolean(Tag.Fresh, value)),
  fc.constantFrom(3600, 60).map((value) => interval(Tag.LeaseTime, value)),
  fc.constantFrom(1, 3, 8).map((value) => integer(Tag.ProtectionStorageMask, value)),
  date.filter((at) => at !== dateNotSet).map((value) => dateTime(Tag.ProtectStopDate, value)),
  date.filter((at) => at !== dateNotSet).map((value) => dateTime(Tag.OriginalCreationDate, value)),
  fc
    .constantFrom<number>(
      CryptographicAlgorithm.AES,
      CryptographicAlgorithm.ECDSA,
      CryptographicAlgorithm.HMAC_SHA1,
    )
    .map((value) => enumeration(Tag.CryptographicAlgorithm, value)),
  limits.map(([total, count, unit]) =>
    structure(Tag.UsageLimits, [
      longInteger(Tag.UsageLimitsTotal, total),
      longInteger(Tag.UsageLimitsCount, count),
      enumeration(Tag.UsageLimitsUnit, unit),
    ]),
  ),
]

const mostlyOnce = new Set<number>([
  Tag.Name,
  Tag.Link,
  Tag.ApplicationSpecificInformation,
  Tag.Attribute,
  Tag.ObjectGroup,
])

interface Sample {
  readonly object: Omit<ManagedObject, 'version' | 'changedAt'>
  readonly tags: readonly string[]
  readonly grants: readonly string[]
}

const sample: fc.Arbitrary<Sample> = fc
  .record({
    id,
    type: fc.constantFrom(...objectTypes),
    algorithm: fc.constantFrom('AES', 'HMAC', 'EC', 'RSA', 'ML-DSA-44', undefined),
    bits: fc.constantFrom(128, 256, undefined),
    boundAlg: fc.constantFrom('HS256', 'HS384', undefined),
    state: fc.constantFrom(...states),
    owner: fc.constantFrom(...users),
    usageMask: fc.constantFrom(0, 4, 12, 0x7fffffff),
    createdAt: milliseconds.map((at) => at ?? now),
    activationAt: milliseconds,
    deactivationAt: milliseconds,
    compromisedAt: milliseconds,
    destroyedAt: milliseconds,
    revocationReason: fc.constantFrom('KeyCompromise', undefined),
    archived: fc.boolean(),
    nodes: fc.array(fc.oneof(...stored), { maxLength: 6 }),
    tags: fc.uniqueArray(fc.constantFrom('red', 'green', '_jwks'), { maxLength: 3 }),
    grants: fc.uniqueArray(fc.constantFrom('alice', '*', 'get:alice'), { maxLength: 2 }),
  })
  .map(({ archived, nodes, tags, grants, id: name, ...rest }) => {
    const seen = new Set<number>()
    const kept = nodes.filter(({ tag }) => {
      const first = !seen.has(tag)
      seen.add(tag)
      return first || mostlyOnce.has(tag)
    })
    return {
      object: {
        ...newObjectDefaults,
        ...rest,
        id: name as ObjectId,
        curve: undefined,
        linkedId: undefined,
        revocationMessage: undefined,
        archivedAt: archived ? now : undefined,
        disabledAt: undefined,
        destructionAt: undefined,
        destruction: undefined,
        form: {},
        ...attributeMembers(kept),
      },
      tags,
      grants,
    }
  })

/** Up to four objects; halves of a pair know each other. */
const samples = fc.uniqueArray(sample, { maxLength: 4, selector: ({ object }) => object.id }).map((all) => {
  const half = all.find(({ object }) => object.type === 'PrivateKey')
  const other = all.find(({ object }) => object.type === 'PublicKey')
  if (half === undefined || other === undefined) return all
  return all.map((one) => {
    if (one === half) return { ...one, object: { ...one.object, linkedId: other.object.id } }
    return one === other ? { ...one, object: { ...one.object, linkedId: half.object.id } } : one
  })
})

const dateTags = [
  Tag.InitialDate,
  Tag.ActivationDate,
  Tag.DeactivationDate,
  Tag.CompromiseDate,
  Tag.ArchiveDate,
  Tag.ProtectStopDate,
  Tag.OriginalCreationDate,
]
const term: fc.Arbitrary<readonly TtlvNode[]> = fc.oneof(
  fc.oneof(...stored).map((node) => [node]),
  nameNode(optionally(text), optionally(nameType)).map((node) => [node]),
  linkNode(optionally(id), optionally(linkType)).map((node) => [node]),
  specific(fc.constant(undefined)).map((node) => [node]),
  vendorNode(fc.constant(undefined)).map((node) => [node]),
  id.map((value) => [textString(Tag.UniqueIdentifier, value)]),
  id.map((value) => [byteString(Tag.ShortUniqueIdentifier, shortIdentifier(value))]),
  fc.constantFrom(...Object.values(ObjectType)).map((value) => [enumeration(Tag.ObjectType, value)]),
  fc.constantFrom(...Object.values(Enumeration.State)).map((value) => [enumeration(Tag.State, value)]),
  fc
    .constantFrom('AES', 'EC', 'ECDSA', 'HMAC_SHA1', 'HMAC_SHA256', 'HMAC_SHA384', 'HMAC_SHA512', 'ML_DSA_44')
    .map((name) => [
      enumeration(
        Tag.CryptographicAlgorithm,
        CryptographicAlgorithm[name as keyof typeof CryptographicAlgorithm],
      ),
    ]),
  fc.constantFrom(0, 4, 8, 0x40000000).map((value) => [integer(Tag.CryptographicUsageMask, value)]),
  fc.constantFrom(128, 256).map((value) => [integer(Tag.CryptographicLength, value)]),
  fc
    .constantFrom('["red"]', '["red","green"]', 'green', '["_kk"]', '[]')
    .map((value) => [
      structure(Tag.Attribute, [
        textString(Tag.VendorIdentification, 'warder'),
        textString(Tag.AttributeName, 'tag'),
        textString(Tag.AttributeValue, value),
      ]),
    ]),
  fc.constant([structure(Tag.RevocationReason, [enumeration(Tag.RevocationReasonCode, 2)])]),
  fc.tuple(fc.constantFrom(...dateTags), date).map(([tag, at]) => [dateTime(tag, at)]),
  fc
    .tuple(fc.constantFrom(...dateTags), date, date)
    .map(([tag, from, to]) => [dateTime(tag, from), dateTime(tag, to)]),
)
const criteria: fc.Arbitrary<Criteria> = fc
  .record({
    terms: fc.array(term, { maxLength: 3 }),
    storage: fc.option(fc.nat(7), { nil: 7 }),
    offset: fc.nat(2),
    most: optionally(fc.integer({ min: 0, max: 3 })),
  })
  .map(({ terms, storage, offset, most }) => {
    const dates = new Map<number, number>()
    const nodes = terms.flat().filter(({ tag, type }) => {
      if (type !== 'DateTime') return true
      dates.set(tag, (dates.get(tag) ?? 0) + 1)
      return (dates.get(tag) ?? 0) <= 2
    })
    const payload = structure(Tag.RequestPayload, [
      most === undefined ? undefined : integer(Tag.MaximumItems, most),
      integer(Tag.OffsetItems, offset),
      integer(Tag.StorageStatusMask, storage),
      structure(Tag.Attributes, nodes),
    ])
    return readCriteria(locateRequest.decode(payload))
  })

/** No object here has material, so the seal is not needed. */
const unused = {} as Pick<UnitOfWorkServices, 'seal' | 'keys' | 'policy' | 'clock'>

function unit(db: Database): UnitOfWork {
  return new UnitOfWork({ ...unused, db }, now)
}

async function store(db: Database, all: readonly Sample[]): Promise<readonly AttributeState[]> {
  const made = unit(db)
  const created = all.map(({ object, tags, grants }) => {
    const whole = made.create({ object, material: undefined, tags })
    for (const grant of grants) {
      const [operation, user] = grant.includes(':') ? ['get', 'alice'] : ['locate', grant]
      made.also(...grantChanges(object.id, user ?? '', [operation ?? '']))
    }
    return { object: whole, tags }
  })
  if (!made.empty) await db.commit(await made.changes())
  return created
}

const deletions = [
  'managed_object',
  'object_name',
  'object_link',
  'object_attribute',
  'object_tag',
  'object_grant',
  'gcm_budget',
].map((table) => change(query<[], unknown>(`DELETE FROM ${table}`), []))

function mayFind(user: string, { object, grants }: Sample): boolean {
  return object.owner === user || grants.includes('*') || grants.includes(user)
}

for (const { name, skip, open, runs } of engines) {
  test(`${name}: the database finds the objects that match by the rules of the standard, page by page`, {
    skip,
  }, async () => {
    const db = await open()
    try {
      await migrate(db, 'kms', kmsMigrations)
      const listed = new Set(['officer'])
      const isActive = async (user: string) => listed.has(user)
      const none = { operations: [], tags: [], algorithms: [], owners: [], validitySeconds: 60 }
      const roles = {
        officers: { listed, requireCeremony: false, quorum: 2, validityMs: 0, isActive },
        approvals: createApprovalPolicy(none, db),
        destructions: createDestructionPolicy({ days: 0, byTag: new Map(), byAlgorithm: new Map() }, db),
      }
      await fc.assert(
        fc.asyncProperty(
          samples,
          fc.array(criteria, { minLength: 1, maxLength: 8 }),
          async (all, questions) => {
            await db.commit(deletions)
            const kept = await store(db, all)
            for (const asked of questions) {
              for (const user of [...users, 'officer']) {
                const expected = all.flatMap((one, index) => {
                  const state = kept[index]
                  const visible = user === 'officer' || mayFind(user, one)
                  if (state === undefined || !visible || !isStored(asked.storage, state, now)) return []
                  return meetsAll(asked.terms, state, now) ? [one.object.id] : []
                })
                const found = await search({ db, roles }, { name: user }, asked, unit(db), now)
                assert.equal(found.total, expected.length)
                const whole = await search(
                  { db, roles },
                  { name: user },
                  { ...asked, offset: 0, maxItems: undefined },
                  unit(db),
                  now,
                )
                assert.deepEqual([...whole.ids].sort(), [...expected].sort())
                const end = asked.maxItems === undefined ? undefined : asked.offset + asked.maxItems
                assert.deepEqual(found.ids, whole.ids.slice(asked.offset, end))
              }
            }
          },
        ),
        { numRuns: runs },
      )
    } finally {
      await db.close()
    }
  })
}
