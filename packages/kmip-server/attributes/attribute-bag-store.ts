import {
  attributeMembers,
  type IndexGaps,
  isTyped,
  storedLinks,
  storedNames,
  toMembers,
  writeAttributes,
} from '@warder/keys'
import { decodeMembers, Tag } from '@warder/kmip-codec'
import { change, type Database, query, type SqlValue } from '@warder/storage'

/** The JSON in rows before migration 4: the form of the material, and all KMIP attributes. */
interface AttributeBag {
  readonly kmip?: unknown
  readonly indexGaps?: IndexGaps
  readonly archivedAt?: number
}

interface BagRow {
  readonly id: string
  readonly form: string
}

const page = query<[after: string, limit: number], BagRow>(
  `SELECT id, form FROM managed_object WHERE id > ? AND form <> '{}' ORDER BY id LIMIT ?`,
)
const setColumns = query<readonly SqlValue[], unknown>(
  `UPDATE managed_object SET form = ?, kmip = ?, process_start_at = ?, protect_stop_at = ?, usage_limits = ?,
     archived_at = ?, extractable = ?, sensitive = ?, never_extractable = ?, always_sensitive = ?
     WHERE id = ? AND form = ?`,
)
const rowsPerCommit = 500

/**
 * Migration 5: moves the attributes of every object into their own columns and tables. Converted objects are skipped.
 */
export async function convertAttributeBags(db: Database): Promise<void> {
  let after = ''
  for (;;) {
    const rows = await db.all(page, [after, rowsPerCommit])
    const last = rows.at(-1)
    if (last === undefined) return
    const changes = rows.flatMap((row) => {
      const params = toColumns(row)
      return params === undefined ? [] : [change(setColumns, params)]
    })
    if (changes.length > 0) await db.commit(changes)
    after = last.id
  }
}

function toColumns({ id, form: stored }: BagRow): readonly SqlValue[] | undefined {
  const { kmip, indexGaps, archivedAt, ...form } = JSON.parse(stored) as AttributeBag
  if (kmip === undefined && indexGaps === undefined && archivedAt === undefined) return undefined
  const nodes = kmip === undefined ? [] : decodeMembers(Tag.Attributes, kmip).value
  const members = attributeMembers(nodes)
  // Names and links had no column then.
  const kept = nodes.filter(({ tag }) => !isTyped(tag) || tag === Tag.Name || tag === Tag.Link)
  const { usageLimits: limits } = members
  return [
    JSON.stringify(form),
    writeAttributes(kept, indexGaps),
    members.processStartAt ?? null,
    members.protectStopAt ?? null,
    limits === undefined ? null : `${limits.unit} ${limits.total} ${limits.left}`,
    archivedAt ?? null,
    Number(members.extractable),
    Number(members.sensitive),
    Number(members.neverExtractable),
    Number(members.alwaysSensitive),
    id,
    stored,
  ]
}

interface AttributesRow {
  readonly id: string
  readonly kmip: string
}

const attributesPage = query<[after: string, limit: number], AttributesRow>(
  'SELECT id, kmip FROM managed_object WHERE id > ? AND kmip IS NOT NULL ORDER BY id LIMIT ?',
)
const setNamesAndLinks = query<readonly SqlValue[], unknown>(
  'UPDATE managed_object SET kmip = ?, names = ?, links = ? WHERE id = ? AND kmip = ?',
)

/** Migration 8: moves names and links into their columns. Converted objects are skipped. */
export async function convertNamesAndLinks(db: Database): Promise<void> {
  let after = ''
  for (;;) {
    const rows = await db.all(attributesPage, [after, rowsPerCommit])
    const last = rows.at(-1)
    if (last === undefined) return
    const changes = rows.flatMap(({ id, kmip }) => {
      const { attributes, indexGaps } = JSON.parse(kmip) as { attributes: unknown; indexGaps?: IndexGaps }
      const nodes = decodeMembers(Tag.Attributes, attributes).value
      const kept = nodes.filter(({ tag }) => !isTyped(tag))
      if (kept.length === nodes.length) return []
      const { names, links } = toMembers(nodes)
      const written = writeAttributes(kept, indexGaps)
      return [change(setNamesAndLinks, [written, storedNames(names), storedLinks(links), id, kmip])]
    })
    if (changes.length > 0) await db.commit(changes)
    after = last.id
  }
}
