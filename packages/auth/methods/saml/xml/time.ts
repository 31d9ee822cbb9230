/** `xs:dateTime` in UTC (SAML 2.0 core §1.3.3), with any fraction of a second. */
const utc = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.\d{1,12})?(?:Z|[+-]00:00)$/

/** Unix seconds, rounded down; undefined for anything that is not a time in UTC. */
export function readTime(text: string): number | undefined {
  const parts = utc.exec(text)?.slice(1).map(Number)
  if (parts === undefined) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
  const time = Date.UTC(year, month - 1, day, hour, minute, second)
  const written = new Date(time).toISOString().slice(0, 19)
  return written === text.slice(0, 19) ? time / 1000 : undefined
}

/** @param seconds Unix seconds */
export function writeTime(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`
}
