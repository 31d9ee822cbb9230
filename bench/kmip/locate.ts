/**
 * How long Locate takes among many objects of one owner: `node bench/kmip/locate.ts [objects] [rounds]`, by default a
 * million objects, in SQLite. Each object has a name of its own, one of a thousand groups and an ActivationDate.
 * `search` is the search alone, `request` a whole request over HTTPS in binary, one after the other. Milliseconds.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { UnitOfWork } from '@warder/keys'
import {
  dateTime,
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { kmipClient, locateRequest, readCriteria, search } from '@warder/kmip-server/testing'
import { startKms } from '@warder/kms/testing'

const objects = Number(process.argv[2] ?? 1_000_000)
const rounds = Number(process.argv[3] ?? 200)
const groups = 1000
const owner = 'alice'
const began = Math.floor(Date.now() / 1000)

const name = (index: number) =>
  structure(Tag.Name, [
    textString(Tag.NameValue, `key-${index}`),
    enumeration(Tag.NameType, Enumeration.NameType.UninterpretedTextString),
  ])
const group = (index: number) => textString(Tag.ObjectGroup, `group-${index}`)

/** Inserts rows directly into the database: nothing is sealed, so these keys cannot be used. */
function seed(path: string): void {
  const db = new DatabaseSync(path)
  try {
    db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -400000')
    db.exec('BEGIN IMMEDIATE')
    const series = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${objects - 1})`
    const id = "printf('%08x-%04x-7%03x-8%03x-%012x', 26624000 + i / 65536, i % 65536, i % 4096, i % 4096, i)"
    const node = (text: string, value: string) =>
      `'{"tag":"${text}","type":"TextString","value":"' || ${value} || '"}'`
    const kmip = `'{"attributes":[{"tag":"Name","type":"Structure","value":[' || ${node('NameValue', "'key-' || i")}
      || ',{"tag":"NameType","type":"Enumeration","value":"UninterpretedTextString"}]},'
      || ${node('ObjectGroup', `'group-' || (i % ${groups})`)} || ']}'`
    db.exec(`${series} INSERT INTO managed_object
      (id, object_type, algorithm, bits, state, owner, usage_mask, created_at, changed_at, activation_at, form, kmip, version)
      SELECT ${id}, 'SymmetricKey', 'AES', 256, 'Active', '${owner}', 12, ${began}000 - i, ${began}000, ${began - 1000}000 - i * 1000,
        '{}', ${kmip}, 1 FROM n`)
    db.exec(`${series} INSERT INTO object_name (object_id, name, name_type)
      SELECT ${id}, 'key-' || i, 'UninterpretedTextString' FROM n`)
    db.exec(`${series} INSERT INTO object_attribute (object_id, name, value)
      SELECT ${id}, 'ObjectGroup', '=group-' || (i % ${groups}) FROM n`)
    db.exec('COMMIT')
  } finally {
    db.close()
  }
}

await using kms = await startKms()
const seeding = performance.now()
seed(join(kms.home, 'kms.db'))
process.stdout.write(
  `${objects} objects of one owner in ${((performance.now() - seeding) / 1000).toFixed(1)} s\n`,
)
process.stdout.write(
  `${''.padEnd(36)}${'search p50'.padStart(12)}${'p99'.padStart(9)}${'request p50'.padStart(13)}${'p99'.padStart(9)}\n`,
)

const { services } = kms
const client = kmipClient(kms.user(owner))

async function measureTime(run: () => Promise<unknown>): Promise<readonly number[]> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const start = performance.now()
    await run()
    times.push(performance.now() - start)
  }
  return times.sort((one, other) => one - other)
}

function percentile(times: readonly number[], share: number): string {
  return (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN).toFixed(2)
}

/** @param wanted the payload of a request; a new one for each round */
async function measure(title: string, wanted: () => readonly TtlvNode[], expected: number): Promise<void> {
  const now = Date.now()
  const once = () =>
    search(
      services,
      { name: owner },
      readCriteria(locateRequest.decode(structure(Tag.RequestPayload, wanted()))),
      new UnitOfWork(services, now),
      now,
    )
  const first = await once()
  if (first.ids.length !== expected)
    throw new Error(`${title}: ${first.ids.length} found, ${expected} expected`)
  const searches = await measureTime(once)
  const requests = await measureTime(() => client.do('Locate', wanted()))
  const columns = [
    percentile(searches, 0.5).padStart(12),
    percentile(searches, 0.99).padStart(9),
    percentile(requests, 0.5).padStart(13),
    percentile(requests, 0.99).padStart(9),
  ]
  process.stdout.write(`${title.padEnd(36)}${columns.join('')}\n`)
}

const any = () => Math.floor(Math.random() * objects)
const attributes = (...nodes: readonly TtlvNode[]) => structure(Tag.Attributes, nodes)
const inGroup = Math.min(Math.ceil(objects / groups), objects)
await measure('by Name', () => [attributes(name(any()))], 1)
await measure(
  'by Name, type, algorithm and state',
  () => [
    attributes(
      name(any()),
      enumeration(Tag.ObjectType, Enumeration.ObjectType.SymmetricKey),
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
      enumeration(Tag.State, Enumeration.State.Active),
    ),
  ],
  1,
)
await measure('by a Name that is not there', () => [attributes(name(objects + any()))], 0)
await measure(
  'the first 10 of a group',
  () => [integer(Tag.MaximumItems, 10), attributes(group(any() % groups))],
  Math.min(10, inGroup),
)
await measure(
  'a group and a range of dates',
  () => [
    integer(Tag.MaximumItems, 10),
    attributes(group(7), dateTime(Tag.ActivationDate, 0), dateTime(Tag.ActivationDate, began)),
  ],
  Math.min(10, inGroup),
)
