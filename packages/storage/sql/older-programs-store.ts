import { change, insertInto, query } from './query.ts'
import type { Change, Database, Migration } from './types.ts'

/** Notes in the database for older programs, which do not know all of its migrations (docs/adr/upgrades.md). */
export const schemaMigrations: readonly Migration[] = [
  {
    number: 1,
    name: 'migrations that are compatible with older programs',
    older: true,
    statements: [
      `CREATE TABLE schema_older (
        component TEXT NOT NULL, number BIGINT NOT NULL, unheeded TEXT NOT NULL, PRIMARY KEY (component, number))`,
    ],
  },
]

export const olderTable = 'schema_older'

const insert = insertInto<[component: string, number: number, unheeded: string]>(olderTable, [
  'component',
  'number',
  'unheeded',
])
const all = query<[component: string], { readonly number: number; readonly unheeded: string }>(
  'SELECT number, unheeded FROM schema_older WHERE component = ?',
)

/** Part of the commit that carries a migration out. */
export function insertOlderNote(component: string, { number, older }: Migration): readonly Change[] {
  return older === undefined ? [] : [change(insert, [component, number, older === true ? '' : older])]
}

/** @returns by number, as `Migration.older` */
export async function readOlderNotes(
  db: Database,
  component: string,
): Promise<ReadonlyMap<number, true | string>> {
  const rows = await db.all(all, [component])
  return new Map(rows.map(({ number, unheeded }) => [number, unheeded === '' ? true : unheeded]))
}
