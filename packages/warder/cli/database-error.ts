/** Describes an unavailable database, a full disk or a rejected statement; undefined for other errors. */
export function describeDatabaseError(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { kind, detail } = error as Error & { readonly kind?: unknown; readonly detail?: unknown }
  if (kind === 'storage_unavailable')
    return `the database is unavailable: ${typeof detail === 'string' ? detail : error.message}`
  return describePostgresError(error)
}

/** SQLSTATE of a missing database privilege. */
const insufficientPrivilege = '42501'

/** Describes an error of PostgreSQL, which has a severity and a code of five characters (PostgreSQL, appendix A). */
function describePostgresError(error: Error): string | undefined {
  const { code, severity } = error as Error & { readonly code?: unknown; readonly severity?: unknown }
  if (typeof severity !== 'string' || typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code))
    return undefined
  const hint =
    code === insufficientPrivilege
      ? '; the user in database_url must own the database: ALTER DATABASE name OWNER TO user'
      : ''
  return `PostgreSQL rejected a statement: ${error.message} (${code})${hint}`
}
