import { Field } from '../../../parts/field.tsx'
import { texts } from '../../../texts.ts'
import { type Admin, identityNames } from './admin.ts'

const words = texts.admins

/** Realms, one on each line. */
export function RealmsField({ realms = [] }: { readonly realms?: readonly string[] }) {
  return (
    <Field
      label={words.realms}
      name="realms"
      isLong
      help={words.realmsHelp}
      defaultValue={realms.join('\n')}
    />
  )
}

/** The names by which the user of an administrator logs in. */
export function IdentityFields({ admin }: { readonly admin?: Admin }) {
  return (
    <>
      {identityNames.map((name) => (
        <Field
          key={name}
          label={words.identities[name]}
          name={name}
          help={words.identityHelp[name]}
          defaultValue={admin?.[name] ?? ''}
          autoComplete="off"
        />
      ))}
    </>
  )
}
