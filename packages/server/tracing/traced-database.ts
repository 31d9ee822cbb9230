import { activeTrace, type SpanHead } from '@warder/outbound/http-client'
import type { Database, Query, SqlValue } from '@warder/storage'

type AnyQuery = Query<readonly SqlValue[], unknown>

/** OpenTelemetry, semantic conventions of databases: a summary is cut off there. */
const maxSummaryLength = 255

/**
 * Records commits, and on PostgreSQL reads, as spans of the request that waits for them. A span has the verb and the
 * table of each statement, and neither its text nor its values. Reads of SQLite take microseconds in this process.
 */
export function traceDatabase(db: Database): Database {
  const system = { 'db.system.name': db.dialect }
  const commit: Database['commit'] = (changes) =>
    runInSpan(
      () => {
        const summary = [...new Set(changes.map(({ query }) => summarize(query)))].join('; ')
        return {
          name: 'COMMIT',
          kind: 'client',
          attributes: {
            ...system,
            'db.operation.name': 'COMMIT',
            'db.operation.batch.size': changes.length,
            'db.query.summary': summary.slice(0, maxSummaryLength),
          },
        }
      },
      () => db.commit(changes),
    )
  if (db.dialect === 'sqlite') return { ...db, commit }
  const read = <R>(statement: AnyQuery, ask: () => Promise<R>): Promise<R> =>
    runInSpan(() => {
      const name = summarize(statement)
      return { name, kind: 'client', attributes: { ...system, 'db.query.summary': name } }
    }, ask)
  return {
    ...db,
    commit,
    get: (statement, params) => read(statement as unknown as AnyQuery, async () => db.get(statement, params)),
    all: (statement, params) => read(statement as unknown as AnyQuery, async () => db.all(statement, params)),
  }
}

async function runInSpan<R>(head: () => SpanHead, ask: () => Promise<R>): Promise<R> {
  const span = activeTrace.getStore()?.begin(head())
  if (span === undefined) return ask()
  try {
    const answer = await ask()
    span.end(false)
    return answer
  } catch (error) {
    span.end(true, { 'error.type': error instanceof Error ? error.name : 'unknown' })
    throw error
  }
}

/** By statement, which are declared once; those that are made for one call go with it. */
const summaries = new WeakMap<object, string>()

/** The verb and the table of a statement. */
function summarize(statement: Pick<AnyQuery, 'text'>): string {
  let summary = summaries.get(statement)
  if (summary === undefined) {
    const [, verb = 'SQL'] = /^\s*([A-Z]+)/i.exec(statement.text) ?? []
    const [, table] = /\b(?:FROM|INTO|UPDATE)\s+"?(\w+)/i.exec(statement.text) ?? []
    summary = table === undefined ? verb.toUpperCase() : `${verb.toUpperCase()} ${table}`
    summaries.set(statement, summary)
  }
  return summary
}
