// `node --import` of this file makes Warder the version after this one: each of its tables gets what a migration may
// add while nodes of the version before go on (`older: true`), two columns and an index.
import { registerHooks } from 'node:module'

const components = /\/packages\/foundation\/runtime\/components\.ts$/

/**
 * @typedef {{ number: number, name: string, older?: true | string, statements: string[] }} Migration
 * @param {ReadonlyMap<string, readonly Migration[]>} known
 */
export function withNext(known) {
  return new Map([...known].map(([name, migrations]) => [name, [...migrations, nextOf(migrations)]]))
}

function nextOf(migrations) {
  const made = migrations
    .flatMap(({ statements }) => statements)
    .flatMap((statement) => /^\s*CREATE TABLE (\w+)/.exec(statement)?.[1] ?? [])
  return {
    number: migrations.length + 1,
    name: 'of the next version',
    older: true,
    statements: made.flatMap((table) => [
      `ALTER TABLE ${table} ADD COLUMN next_text TEXT`,
      `ALTER TABLE ${table} ADD COLUMN next_count BIGINT NOT NULL DEFAULT 0`,
      `CREATE INDEX ${table}_next ON ${table} (next_count)`,
    ]),
  }
}

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!components.test(url)) return loaded
    // A function of a module can be replaced within it, and whoever imported it calls the new one.
    const source = `${loaded.source}
import { withNext } from ${JSON.stringify(import.meta.url)}
const componentsToday = componentsOf
componentsOf = (definition) => withNext(componentsToday(definition))
`
    return { ...loaded, source }
  },
})
