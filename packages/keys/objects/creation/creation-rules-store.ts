import { decodeJson, encodeJson, type StructureNode } from '@warder/kmip-codec'
import { type Change, change, type Database, query } from '@warder/storage'
import { refusal } from '../refusal.ts'
import { type CreationRules, noRules } from './creation-rules.ts'

interface RuleRow {
  readonly name: string
  readonly value: string
}

const ofOwner = query<[owner: string], RuleRow>('SELECT name, value FROM kmip_creation_rule WHERE owner = ?')
const put = query<[owner: string, name: string, value: string], unknown>(
  `INSERT INTO kmip_creation_rule (owner, name, value) VALUES (?, ?, ?)
     ON CONFLICT (owner, name) DO UPDATE SET value = excluded.value`,
)

/** Maximum size of a list of rules, in characters of JSON TTLV. */
const maxBytes = 256 * 1024

export async function readRules(db: Database, owner: string): Promise<CreationRules> {
  const rows = await db.all(ofOwner, [owner])
  if (rows.length === 0) return noRules
  const findStructure = (name: string): StructureNode | undefined => {
    const row = rows.find((known) => known.name === name)
    const node = row === undefined ? undefined : decodeJson(row.value)
    return node?.type === 'Structure' ? node : undefined
  }
  return { defaults: findStructure('defaults'), constraints: findStructure('constraints') }
}

/** Replaces a user's list. @throws Refusal ServerLimitExceeded */
export function replaceRules(owner: string, name: keyof CreationRules, rules: StructureNode): Change {
  const value = encodeJson(rules)
  if (value.length > maxBytes) throw refusal('ServerLimitExceeded', 'These rules are too long.')
  return change(put, [owner, name, value])
}
