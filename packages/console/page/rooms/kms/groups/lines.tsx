import { Label, Text, TextArea, TextField } from 'react-aria-components'

/** Names, one a line. */
export function Lines(props: {
  readonly label: string
  readonly help: string
  readonly name: string
  readonly defaultValue?: string
}) {
  const { label, help, name, defaultValue = '' } = props
  return (
    <TextField className="field" name={name} defaultValue={defaultValue}>
      <Label>{label}</Label>
      <TextArea className="input" rows={5} />
      <Text slot="description" className="quiet">
        {help}
      </Text>
    </TextField>
  )
}

export const readLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
