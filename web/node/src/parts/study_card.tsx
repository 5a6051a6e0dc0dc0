import {count, plain, short} from "../base/text";
import type {StudySummary} from "../base/types";
import {daysWaiting, nameOf, stands} from "./study_words";
import {Said, StateTag, Tag, When} from "./words";

export const StudyCard = ({study}: {study: StudySummary}) => (
  <li class="card link">
    <div class="line">
      <h3>
        <a href={`#/studies/${study.study}`}>
          <bdi>{nameOf(study)}</bdi>
        </a>
      </h3>
      {daysWaiting(study) > 0 && <Tag tone="warn">waits {count(daysWaiting(study), "day", "days")}</Tag>}
      <StateTag state={study.state} />
    </div>
    <p>{stands(study)}</p>
    <p class="faint small">
      <Said text={short(study.name, 80)} or="no name" />, proposed by {study.own ? "this site" : short(plain(study.proposer), 80)}{" "}
      on <When at={study.began} />
      {!study.is_over && (
        <>
          , open until <When at={study.expires} relative />
        </>
      )}
    </p>
  </li>
);
