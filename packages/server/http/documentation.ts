import { readFileSync } from 'node:fs'
import { defineOperation, get } from '../operations/define.ts'
import { type Json, toYaml } from '../operations/openapi.ts'
import type { Operation } from '../operations/types.ts'
import { rawReply } from './reply.ts'

const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const read = (file: URL): string => readFileSync(file, 'utf8')

/** The files of the page. Literal addresses: a bundle finds them (`scripts/bundle/addresses.ts`). */
const pageFiles = {
  html: new URL('./swagger/page.html', import.meta.url),
  script: new URL('./swagger/page.js', import.meta.url),
  css: new URL('./swagger/page.css', import.meta.url),
}

/**
 * The public description of a service: `GET /openapi.yaml`, and `GET /swagger`, a page of our own that shows it and
 * sends requests. The page loads nothing from elsewhere; its script and style are files of their own because the
 * policy allows no inline code.
 */
export function documentationOperations<Services>(options: {
  readonly document: Readonly<Record<string, Json>>
}): readonly Operation<Services>[] {
  const define = defineOperation<Services>()
  const json = JSON.stringify(options.document)
  let yaml: Promise<string> | undefined
  const writeYaml = (): Promise<string> => {
    yaml ??= toYaml(options.document)
    return yaml
  }
  const file = (
    name: string,
    path: string,
    summary: string,
    contentType: string,
    content: string | (() => Promise<string>),
  ) =>
    define({
      name,
      route: get(path),
      summary,
      tag: 'Documentation',
      access: { name: 'public', public: true },
      reach: ['reveal public'],
      replyContentType: contentType,
      audited: false,
      cors: 'any-origin',
      cacheControl: 'no-cache',
      act: async () => {
        const raw = typeof content === 'string' ? content : await content()
        return rawReply({ raw, contentType, headers: { 'Content-Security-Policy': pagePolicy } })
      },
    })
  return [
    file('docs.openapi', '/openapi.yaml', 'This description', 'application/yaml', writeYaml),
    file(
      'docs.page',
      '/swagger',
      'Page that shows the description',
      'text/html; charset=utf-8',
      read(pageFiles.html),
    ),
    file(
      'docs.script',
      '/swagger.js',
      'Script of that page',
      'text/javascript; charset=utf-8',
      read(pageFiles.script),
    ),
    file('docs.style', '/swagger.css', 'Style of that page', 'text/css; charset=utf-8', read(pageFiles.css)),
    file('docs.json', '/openapi.json', 'This description as JSON', 'application/json', json),
  ]
}
