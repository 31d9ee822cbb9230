import type { Values } from '../../../parts/act-form.tsx'
import { Check, Field } from '../../../parts/field.tsx'
import { texts } from '../../../texts.ts'
import {
  defaultSettings,
  listMethods,
  type Method,
  methods,
  type Realm,
  type RealmBody,
  readParams,
  simpleMethods,
} from './realm.ts'

const words = texts.realms

const defaultAges = { session: 28_800, idle: 1800, certificate: 31_536_000 } as const

/** Login methods without settings of their own. */
export function SimpleMethods({ selected }: { readonly selected: readonly Method[] }) {
  return (
    <fieldset className="field">
      <legend>{words.loginBy}</legend>
      {simpleMethods.map((method) => (
        <Check
          key={method}
          name={method}
          label={words.methods[method]}
          isSelected={selected.includes(method)}
        />
      ))}
    </fieldset>
  )
}

/** Maximum ages, in seconds. */
export function AgeFields({ realm }: { readonly realm?: Realm }) {
  const check = (text: string): string | null => (/^[1-9]\d{0,9}$/.test(text) ? null : words.secondsRule)
  const field = (name: string, label: string, value: number) => (
    <Field
      label={label}
      name={name}
      inputMode="numeric"
      defaultValue={String(value)}
      validate={check}
      isRequired
    />
  )
  return (
    <>
      {field('session', words.sessionSeconds, realm?.session_max_age_seconds ?? defaultAges.session)}
      {field('idle', words.idleSeconds, realm?.session_max_stale_age_seconds ?? defaultAges.idle)}
      {field(
        'certificate-age',
        words.certificateSeconds,
        realm?.certificate_max_age_seconds ?? defaultAges.certificate,
      )}
    </>
  )
}

export const readAges = (values: Values) => ({
  session_max_age_seconds: Number(values.session),
  session_max_stale_age_seconds: Number(values.idle),
  certificate_max_age_seconds: Number(values['certificate-age']),
})

/** Identity providers in a text: a line for each, `ISSUER,KEYS[,AUDIENCE]`. */
export function formatProviders(realm: Realm): string {
  const providers = readParams(realm).jwt_params?.idp_params ?? []
  return providers
    .map(({ jwt_issuer_uri: issuer, jwks_uri: keys, jwt_audience: audience }) =>
      [issuer, keys, ...(audience == null ? [] : [audience])].join(','),
    )
    .join('\n')
}

const listLines = (text: string | undefined): readonly string[] =>
  (text ?? '').split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))

/** @returns what is wrong with the lines; null: nothing */
export function checkProviders(text: string): string | null {
  const isRight = (line: string): boolean => /^[^\s,]+,https:\/\/[^\s,]+(?:,[^\s,]+)?$/.test(line)
  return listLines(text).every(isRight) ? null : words.providersRule
}

/** `auth_params` for the values of a form; what the form does not know stays. */
export function readMethods(values: Values, before: Realm | undefined): RealmBody['auth_params'] {
  const params = readParams(before)
  const simple = simpleMethods.map((method) => [
    methods[method],
    values[method] === 'yes' ? (params[methods[method]] ?? defaultSettings[method]) : null,
  ])
  const providers = listLines(values.providers).map((line) => {
    const [issuer = '', keys = '', audience] = line.split(',')
    return {
      jwt_issuer_uri: issuer,
      jwks_uri: keys,
      ...(audience !== undefined && { jwt_audience: audience }),
    }
  })
  return {
    ...params,
    ...Object.fromEntries(simple),
    jwt_params: providers.length === 0 ? null : { ...params.jwt_params, idp_params: providers },
  }
}

/** Options of the command for the values of a form. @param realm the present settings; undefined: a new realm */
export function toOptions(values: Values, realm?: Realm) {
  const before = realm === undefined ? [] : listMethods(realm)
  const chosen = simpleMethods.filter((method) => values[method] === 'yes')
  const providers = listLines(values.providers)
  const hasOtherProviders = realm === undefined || formatProviders(realm) !== providers.join('\n')
  const gone = before.filter(
    (method) =>
      (simpleMethods.some((simple) => simple === method) && values[method] !== 'yes') ||
      (method === 'jwt' && providers.length === 0),
  )
  const change = (value: string | undefined, old: number | undefined): string | undefined =>
    value === String(old) ? undefined : value
  return {
    login: chosen.filter((method) => !before.includes(method)),
    'no-login': gone,
    'jwt-provider': hasOtherProviders ? providers : [],
    'session-seconds': change(values.session, realm?.session_max_age_seconds),
    'idle-seconds': change(values.idle, realm?.session_max_stale_age_seconds),
    'certificate-seconds': change(values['certificate-age'], realm?.certificate_max_age_seconds),
  }
}
